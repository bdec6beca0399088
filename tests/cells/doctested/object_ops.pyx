def hash_of(int n):
    return hash(n)
def is_none(x):
    return x is None
def typed_dict(dict d, int k):
    return d[k]
def with_set(int n):
    return {n, n + 1}
def membership(int n):
    return n in {1, 2, 3}
def slices(list x, int a, int b):
    return x[a:b]
def isinst(x):
    return isinstance(x, (int, float))
def printing(int n):
    print("n =", n)
    return n
# >>> is_none(None), typed_dict({1: 2}, 1), with_set(1) == {1, 2}, bool(membership(2)), slices([1, 2, 3], 1, 3), isinst(1.0)
# (True, 2, True, True, [2, 3], True)
# >>> _ = printing(3)
# n = 3
