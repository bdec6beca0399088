from .c_address import (
    address as address,
    ctypes_function as ctypes_function,
    leaf_address as leaf_address,
    lowlevel as lowlevel,
    prototype as prototype,
)
from .c_header import get_include as get_include, write_header as write_header
