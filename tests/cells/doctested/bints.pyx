def logic(bint a, bint b):
    return a and not b
def compare(double a, double b):
    return a < b
def chain(int a, int b, int c):
    return a < b < c
cdef bint even(int n) noexcept:
    return n % 2 == 0
def parity(int n):
    return even(n)
def truth(int n):
    return True if n else False
# >>> bool(logic(True, False)), bool(compare(1.0, 2.0)), bool(chain(1, 2, 3)), bool(parity(3)), bool(truth(0))
# (True, True, True, False, False)
