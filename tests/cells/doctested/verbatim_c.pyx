cdef extern from *:
    """
    #define SQUARE(x) ((x) * (x))
    static int add(int a, int b) { return a + b; }
    typedef struct { int a; double b; } thing;
    enum { FLAG_A = 1, FLAG_B = 2 };
    """
    int SQUARE(int x)
    int add(int a, int b)
    ctypedef struct thing:
        int a
        double b
    int FLAG_B
def squared(int x):
    return SQUARE(x)
def added(int a, int b):
    return add(a, b)
def thinged(int a):
    cdef thing t
    t.a, t.b = a, a * 2
    return t.b
def flagged(int x):
    return x & FLAG_B
# >>> int(squared(3)), int(added(1, 2)), float(thinged(2)), int(flagged(3))
# (9, 3, 4.0, 2)
