# types: f d->d
# given: import pickle
# given: r = Rectangle(2.0, 3.0)
# expect: (r.area(), r.double_width, Rectangle.unit().area()) == (6.0, 4.0, 1.0) exactly
# expect: raises(AttributeError, lambda: r.hidden) == "'" + type(r).__module__ + ".Rectangle' object has no attribute 'hidden'" exactly
# expect: pickle.loads(pickle.dumps(r)).area() == 6.0 exactly
# expect: Square(3.0).area() == 9.0 exactly
# expect: isinstance(Square(1.0), Rectangle) == True exactly
# expect: (Rectangle(1.0, 2.0) < r, len(r), r + r) == (True, 2, 12.0) exactly
# expect: (Plain().answer(), LIMIT, TABLE[1], list(evens(5))) == (42, 10, 'one', [0, 2, 4]) exactly
# expect: adder(3)(4) == 7 exactly
LIMIT = 10
TABLE = {1: "one"}


cdef double f(double x):
    return x + 1


cdef class Rectangle:
    cdef public double width
    cdef readonly double height
    cdef int hidden

    def __init__(self, double width, double height):
        self.width, self.height = width, height

    cpdef double area(self):
        return self.width * self.height

    @property
    def double_width(self):
        return 2 * self.width

    @staticmethod
    def unit():
        return Rectangle(1, 1)

    def __lt__(self, Rectangle other):
        return self.area() < other.area()

    def __len__(self):
        return 2

    def __add__(self, other):
        return self.area() + other.area()


cdef class Square(Rectangle):
    def __init__(self, double side):
        super().__init__(side, side)


class Plain:
    def answer(self):
        return 42


def evens(n):
    for i in range(0, n, 2):
        yield i


def adder(n):
    return lambda x: x + n
