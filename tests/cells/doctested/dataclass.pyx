import cython
from dataclasses import dataclass, field
cimport cython
@cython.dataclasses.dataclass
cdef class Item:
    name: str
    price: cython.double = 1.5
    tags: list = cython.dataclasses.field(default_factory=list)
@dataclass
class Plain:
    x: int
    y: int = 2
def cost(Item i, int n):
    return i.price * n
# >>> Item("a"), Plain(1), cost(Item("b", 2.0), 3)
# (Item(name='a', price=1.5, tags=[]), Plain(x=1, y=2), 6.0)
