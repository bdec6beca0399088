import cython
T = cython.fused_type(cython.int, cython.double)
@cython.ccall
def twice(x: T) -> T:
    return x * 2
@cython.cfunc
def thrice(x: T) -> T:
    return x * 3
def via(x: cython.double):
    return thrice(x)
# >>> int(twice(2)), float(twice(2.5)), float(via(1.5))
# (4, 5.0, 4.5)
