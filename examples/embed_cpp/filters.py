"""The filter that the C++ program calls: one class for NumPy arrays on the CPU and CuPy arrays on a GPU."""

import numpy as np

import ufunc_magic as um

TONE = """
/* Contrast around mid-grey, kept in 0..1. */
__device__ float tone(float x, float contrast) { return fminf(fmaxf((x - 0.5f)*contrast + 0.5f, 0.0f), 1.0f); }
"""


class Filter:
    """Blur with the four neighbours, then contrast.

    Parameters
    ----------
    gpu : bool
        Whether images are CuPy arrays.
    contrast : float
    """

    def __init__(self, *, gpu=False, contrast=1.5):
        if gpu:
            import cupy

            self.xp = cupy
        else:
            self.xp = np
        self.contrast = np.float32(contrast)
        # The same source on both sides: a ufunc of its emulation on the CPU, a kernel on the GPU.
        self.tone = um.compile_cuda(TONE, device="auto" if gpu else "cpu").tone

    def __call__(self, image):
        """The filtered image, a new array beside ``image``.

        Parameters
        ----------
        image : (height, width) float32 array
        """
        if image.ndim != 2 or image.dtype != np.float32:
            raise TypeError(f"an image of {image.ndim} axes and {image.dtype} is not one of 2 and float32")
        made = image.copy()
        inner = made[1:-1, 1:-1]
        for neighbour in (image[:-2, 1:-1], image[2:, 1:-1], image[1:-1, :-2], image[1:-1, 2:]):
            inner += neighbour
        inner *= np.float32(0.2)
        return self.tone(made, self.contrast, out=made)
