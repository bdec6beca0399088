cpdef enum Mode:
    fast = 1
    slow = 2
cdef class Engine:
    cdef Mode mode
    def __init__(self, Mode mode):
        self.mode = mode
    def get(self):
        return self.mode
def is_fast(Mode m):
    return m == Mode.fast
# >>> Engine(Mode.slow).get() == Mode.slow, bool(is_fast(Mode.fast))
# (True, True)
