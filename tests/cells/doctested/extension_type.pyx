cdef class Shape:
    cdef double _width
    cdef public double height
    cdef readonly str name
    def __cinit__(self, double width, double height=1.0, name="box"):
        self._width = width
        self.height = height
        self.name = name
    @property
    def width(self):
        return self._width
    @width.setter
    def width(self, double value):
        if value < 0:
            raise ValueError("negative width")
        self._width = value
    cpdef double area(self):
        return self._width * self.height
    def __mul__(self, double by):
        return Shape(self._width * by, self.height * by, self.name)
    def __eq__(self, other):
        return isinstance(other, Shape) and self.area() == other.area()
    @staticmethod
    def unit():
        return Shape(1.0)
    @classmethod
    def named(cls, name):
        return cls(2.0, 2.0, name)
cdef class Square(Shape):
    def __init__(self, double side):
        self.height = side
    cpdef double area(self):
        return self._width * self._width
def area_of(Shape s):
    return s.area()
cdef double scale = 3
cpdef double scaled(Shape s):
    return scale * s.area()
# >>> s = Shape(2.0, 3.0); s.area(), s.width, (s * 2).area()
# (6.0, 2.0, 24.0)
# >>> s.width = -1
# Traceback (most recent call last):
# ValueError: negative width
# >>> Square(3.0).area(), area_of(s), scaled(s)
# (9.0, 6.0, 18.0)
# >>> Shape.unit().name, Shape.named("a").name, s == Shape(3.0, 2.0)
# ('box', 'a', True)
