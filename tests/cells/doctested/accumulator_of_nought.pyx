def total(int n, double x):
    s = 0
    for i in range(n):
        s += x
    return s
def count(int n):
    k = 0
    while n:
        n //= 2
        k += 1
    return k
# >>> float(total(3, 0.5))
# 1.5
# >>> int(count(1000))
# 10
