import numpy as np

def total(np.ndarray[np.float64_t, ndim=1] a):
    return a.sum()
