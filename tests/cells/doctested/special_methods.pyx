cdef class Vec:
    cdef double x, y
    def __init__(self, double x, double y):
        self.x, self.y = x, y
    def __add__(Vec self, Vec other):
        return Vec(self.x + other.x, self.y + other.y)
    def __getitem__(self, int i):
        if i == 0: return self.x
        if i == 1: return self.y
        raise IndexError(i)
    def __iter__(self):
        yield self.x
        yield self.y
    def __call__(self, double t):
        return self.x + t * self.y
    def __hash__(self):
        return 7
    def __float__(self):
        return self.x
    def __neg__(self):
        return Vec(-self.x, -self.y)
    def __lt__(self, Vec o):
        return self.x < o.x
    def __contains__(self, double v):
        return v == self.x or v == self.y
    def __reduce__(self):
        return Vec, (self.x, self.y)
# >>> v = Vec(1.0, 2.0); list(v + v), v[1], v(2.0), float(-v), v < Vec(2.0, 0.0), 2.0 in v
# ([2.0, 4.0], 2.0, 5.0, -1.0, True, True)
