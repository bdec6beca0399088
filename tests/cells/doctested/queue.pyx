from libc.stdlib cimport malloc, free
cdef struct Node:
    int value
    Node *next
cdef class Queue:
    cdef Node *head
    cdef Py_ssize_t count
    def __cinit__(self):
        self.head = NULL
    def __dealloc__(self):
        while self.head != NULL:
            self.pop_()
    cdef int pop_(self) except? -1:
        if self.head == NULL:
            raise IndexError("empty")
        cdef Node *n = self.head
        cdef int v = n.value
        self.head = n.next
        free(n)
        self.count -= 1
        return v
    cpdef push(self, int v):
        cdef Node *n = <Node *> malloc(sizeof(Node))
        n.value, n.next = v, self.head
        self.head = n
        self.count += 1
    def pop(self):
        return self.pop_()
    def __len__(self):
        return self.count
    def __bool__(self):
        return self.head != NULL
# >>> q = Queue(); q.push(1); q.push(2); len(q), q.pop(), q.pop(), bool(q)
# (2, 2, 1, False)
# >>> q.pop()
# Traceback (most recent call last):
# IndexError: empty
