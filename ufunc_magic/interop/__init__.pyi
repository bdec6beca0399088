from .arrays import asarray as asarray, ascapsule as ascapsule, pointer as pointer
from .hosts import ctypes_function as ctypes_function, lowlevel as lowlevel, prototype as prototype
