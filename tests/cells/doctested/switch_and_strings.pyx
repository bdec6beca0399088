def kind(int n):
    if n == 1:
        return 10
    elif n == 2 or n == 3:
        return 20
    elif n in (4, 5, 6):
        return 30
    else:
        return 40
def named(int n):
    return {1: "one", 2: "two"}.get(n, "many")
def grade(double x):
    if x > 90: return "A"
    if x > 80: return "B"
    return "C"
# >>> [int(kind(i)) for i in (1, 3, 5, 9)], named(2), grade(85.0)
# ([10, 20, 30, 40], 'two', 'B')
