# distutils: language = c++
cdef extern from *:
    """
    struct Rect {
        int w, h;
        Rect() : w(0), h(0) {}
        Rect(int w, int h) : w(w), h(h) {}
        int area() const { return w * h; }
        int& width() { return w; }
    };
    """
    cppclass Rect:
        Rect() except +
        Rect(int, int) except +
        int w, h
        int area()
        int& width()
cdef class PyRect:
    cdef Rect r
    def __init__(self, int w, int h):
        self.r = Rect(w, h)
    def area(self):
        return self.r.area()
def area(int w, int h):
    cdef Rect r = Rect(w, h)
    return r.area()
def width(int w, int h):
    cdef Rect r = Rect(w, h)
    return r.width()
def heap(int w):
    cdef Rect *r = new Rect(w, 2)
    try:
        return r.area()
    finally:
        del r
cdef cppclass Acc:
    double total
    __init__():
        this.total = 0
    void add(double x):
        this.total += x
def acc(double x):
    cdef Acc *a = new Acc()
    a.add(x)
    a.add(x)
    r = a.total
    del a
    return r
# >>> PyRect(2, 3).area(), int(area(2, 3)), int(width(4, 5)), int(heap(3)), float(acc(1.5))
# (6, 6, 4, 6, 3.0)
