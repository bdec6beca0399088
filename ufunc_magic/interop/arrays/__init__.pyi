from .pointers import asarray as asarray, ascapsule as ascapsule, pointer as pointer
