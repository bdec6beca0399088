# cython: language_level=3
import cython
@cython.cfunc
@cython.returns(cython.double)
@cython.locals(x=cython.double)
def inner(x):
    return x * x
@cython.ccall
def outer(x: cython.double) -> cython.double:
    y: cython.double = inner(x)
    return y + 1
def plain(a: cython.int, b: cython.int):
    c = cython.declare(cython.int, a + b)
    return c
if cython.compiled:
    how = "compiled"
else:
    how = "python"
# >>> float(outer(3.0))
# 10.0
# >>> int(plain(1, 2))
# 3
# >>> how
# 'compiled'
