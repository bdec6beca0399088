"""Pointers, capsules and arrays of other libraries, without a copy.

* `pointers`: `asarray`, `ascapsule`, `pointer`, and whether a shape and strides fit what they are laid over.
* `memory`: the memory that an object describes.
* `capsules`: PyCapsules, and the tensors of DLPack in them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
