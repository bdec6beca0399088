def add(a, b):
    return a + b
def typed_one(a, int n):
    return a * n
def listed(list xs, int n):
    return xs[n]
def comprehension(int n):
    return [i**2 for i in range(n)]
def dicts(int n):
    return {i: i * 2 for i in range(n)}
def strings(int n):
    return "ab" * n
def none(int n):
    return None
# >>> add(1, 2), typed_one("a", 2), listed([1, 2], 1), comprehension(3), dicts(2), strings(2), none(1)
# (3, 'aa', 2, [0, 1, 4], {0: 0, 1: 2}, 'abab', None)
