cdef class Guard:
    cdef public list log
    def __init__(self):
        self.log = []
    def __enter__(self):
        self.log.append("in")
        return self
    def __exit__(self, kind, value, trace):
        self.log.append("out")
        return kind is KeyError
def careful(double a, double b):
    try:
        return a / b
    except ZeroDivisionError:
        return -1
def finals(int n):
    r = 0
    try:
        if n > 2:
            raise ValueError(n)
        r = n
    except ValueError as e:
        r = -e.args[0]
    finally:
        r += 100
    return r
# >>> g = Guard()
# >>> with g: raise KeyError
# >>> g.log, float(careful(1.0, 0.0)), float(careful(1.0, 4.0)), int(finals(1)), int(finals(3))
# (['in', 'out'], -1.0, 0.25, 101, 97)
