cimport cython
def sizes(int n):
    return n * sizeof(double) + cython.sizeof(cython.int)
def casted(double x):
    return <int> x + cython.cast(int, x)
def pos(int i, int n):
    return i if cython.typeof(i) == "int" else n
@cython.boundscheck(False)
@cython.initializedcheck(False)
@cython.nonecheck(False)
@cython.profile(False)
@cython.embedsignature(True)
def directed(int x):
    return x
@cython.binding(False)
def unbound(int x):
    return x + 1
@cython.test_fail_if_path_exists("//CoerceToPyTypeNode")
cdef int tested(int x) noexcept:
    return x
with cython.boundscheck(False):
    def inside(int x):
        return x + 2
# >>> int(sizes(1)), int(casted(2.7)), int(pos(1, 2)), int(directed(3)), int(unbound(1)), int(inside(1))
# (12, 4, 1, 3, 2, 3)
