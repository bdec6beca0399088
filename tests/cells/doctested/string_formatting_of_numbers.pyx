def pct(double x):
    return f"{x:.1%}"
def hexed(int n):
    return "%x" % n
def padded(int n):
    return str(n).zfill(4)
def bits(unsigned int n):
    cdef int c = 0
    while n:
        n &= n - 1
        c += 1
    return c
def rot(unsigned int x, int k):
    return (x << k) | (x >> (32 - k))
# >>> pct(0.5), hexed(255), padded(7), int(bits(7)), int(rot(1, 31))
# ('50.0%', 'ff', '0007', 3, 2147483648)
