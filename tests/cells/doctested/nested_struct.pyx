cdef struct Inner:
    int a
    double[2] b
cdef struct Outer:
    Inner inner
    Inner *ptr
ctypedef union Any:
    int i
    double d
def nested(int a):
    cdef Outer o
    o.inner.a = a
    o.inner.b[1] = a * 2
    o.ptr = &o.inner
    return o.ptr.b[1]
def any_(double d):
    cdef Any u
    u.d = d
    return u.d
cdef Inner[3] rows
def row(int i):
    rows[i].a = i + 1
    return rows[i].a
# >>> float(nested(2)), float(any_(1.5)), int(row(1))
# (4.0, 1.5, 2)
