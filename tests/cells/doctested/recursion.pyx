cpdef long fib(int n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def fact(int n):
    return 1 if n <= 1 else n * fact(n - 1)
cdef long gcd(long a, long b) noexcept:
    return a if b == 0 else gcd(b, a % b)
def divisor(long a, long b):
    return gcd(a, b)
# >>> int(fib(10)), int(fact(5)), fact(30), int(divisor(12, 18))
# (55, 120, 265252859812191058636308480000000, 6)
