def shout(str s):
    return s.upper() + "!"
def char_at(str s, int i):
    return s[i]
def code(Py_UCS4 c):
    return <int> c
def letter(int n):
    return chr(n)
def formatted(int n, double x):
    return f"{n}: {x:.2f}"
def encoded(unicode s):
    cdef bytes b = s.encode("utf8")
    cdef const char *p = b
    return p[0]
# >>> shout("a"), char_at("abc", 1), code("a"), letter(98), formatted(1, 2.5), encoded("A")
# ('A!', 'b', 97, 'b', '1: 2.50', 65)
