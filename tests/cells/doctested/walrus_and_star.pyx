def walrus(int n):
    if (m := n * 2) > 4:
        return m
    return n
def unpack(int n):
    a, *rest = range(n)
    return rest
def swap(int a, int b):
    a, b = b, a
    return a * 10 + b
def chained(int n):
    a = b = n
    return a + b
def deleted(int n):
    x = [n]
    del x[0]
    return len(x)
def while_else(int n):
    while n > 0:
        n -= 1
        if n == 5:
            break
    else:
        return -1
    return n
# >>> int(walrus(3)), unpack(3), int(swap(1, 2)), int(chained(2)), int(deleted(1)), int(while_else(9)), int(while_else(3))
# (6, [1, 2], 21, 4, 0, 5, -1)
