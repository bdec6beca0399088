cdef object pick(dict d, str k):
    return d.get(k)
cdef list doubled(list xs):
    return [x * 2 for x in xs]
cdef void log(list to, int n) except *:
    to.append(n)
cdef str name(int n):
    return str(n)
cdef class Holder:
    cdef list items
    cdef int total(self):
        return sum(self.items)
def use(int n):
    cdef Holder h = Holder()
    h.items = doubled([n, n])
    log(h.items, 1)
    return h.total()
def looked(d, str k):
    return pick(d, k), name(3)
# >>> int(use(2)), looked({"a": 1}, "a")
# (9, (1, '3'))
