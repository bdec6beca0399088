"""CUDA's own types, which a cell uses without saying where from, and the macros by which a text knows that it is CUDA.

Names are those of NVIDIA's "CUDA Math API" and of the "CUDA C++ Programming Guide".
"""

from __future__ import annotations

#: C's spelling of the elements of each family of vector types.
_ELEMENTS = {
    "char": "signed char",
    "uchar": "unsigned char",
    "short": "short",
    "ushort": "unsigned short",
    "int": "int",
    "uint": "unsigned int",
    "long": "long",
    "ulong": "unsigned long",
    "longlong": "long long",
    "ulonglong": "unsigned long long",
    "float": "float",
    "double": "double",
}

#: Vector type -> the type and the names of its members.
VECTORS: dict[str, tuple[str, str]] = {
    **{f"{short}{n}": (kind, "xyzw"[:n]) for short, kind in _ELEMENTS.items() for n in (1, 2, 3, 4)},
    "dim3": ("unsigned int", "xyz"),
}

#: Types of its headers that NumPy has no counterpart of.
PACKED = frozenset("half2 __half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162".split())

_NAMED = """
    half half2 __half __half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162 cuComplex cuFloatComplex
    cuDoubleComplex uint ushort ulong uchar clock_t cudaStream_t cudaError_t cudaTextureObject_t cudaSurfaceObject_t
"""
#: Types that CUDA or its headers bring along.
TYPES = frozenset([*VECTORS, *_NAMED.split()])

#: Words of C++'s library whose uses are the host's: device code has no containers, streams, exceptions or threads.
HOST_WORDS = frozenset(
    """
    vector string map set unordered_map unordered_set list deque queue stack cout cerr clog endl cin ostream istream
    iostream ofstream ifstream fstream stringstream ostringstream istringstream shared_ptr unique_ptr make_shared
    make_unique thread mutex lock_guard future async runtime_error logic_error exception chrono mt19937
    random_device FILE
    """.split()
)

#: Beginnings of headers of NVIDIA's libraries for the host, and a word of each that device code would use.
HOST_HEADERS = {
    "thrust/": "thrust",
    "cub/": "cub",
    **dict.fromkeys("cublas cufft cusparse cusolver cudnn nccl npp nvml nvrtc curand.h".split(), ""),
}

#: A cell without these words holds nothing that `cuda_diagnostics.find_refusals` would find.
GPU_ONLY = (
    "volatile asm tex surf Texture Surface <<< wmma nvcuda mma cub thrust cluster multi_grid memcpy_async "
    "fill_fragment <cuda/ <cuda_fp <cuda_pipeline <cuda_awbarrier"
).split()

#: Macros that say that a compiler reads CUDA, and of which version, as ``templates/cuda.h`` has them.
PREDEFINED = {
    "__NVCC__": "1",
    "__CUDACC__": "1",
    "__CUDACC_VER_MAJOR__": "13",
    "__CUDACC_VER_MINOR__": "0",
    "CUDART_VERSION": "13000",
    # Its own headers, which are there without an include.
    "__CUDA_RUNTIME_H__": "1",
    "__DRIVER_TYPES_H__": "1",
}
