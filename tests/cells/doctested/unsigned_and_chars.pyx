def u8(unsigned char x):
    return x + 1
def s8(signed char x):
    return -x
def c(char x):
    return x
def ul(unsigned long x):
    return x * 2
def size(size_t n):
    return n + 1
def idx(Py_ssize_t n):
    return -n
def ll(long long x):
    return x // 3
def short_(short x):
    return x % 7
def ldouble(long double x):
    return x / 2
# >>> int(u8(1)), int(s8(2)), int(c(65)), int(ul(2)), int(size(3)), int(idx(4)), int(ll(-7)), int(short_(-3))
# (2, -2, 65, 4, 4, -4, -3, 4)
# >>> float(ldouble(3.0))
# 1.5
