from .cell_memory import CellMemory as CellMemory
from .cuda_function import CudaFunction as CudaFunction
from .cuda_kernel import Kernel as Kernel, KernelFamily as KernelFamily, Launch as Launch
from .device_timing import copy_bandwidth as copy_bandwidth, time_call as time_call, time_function as time_function
from .driver import (
    arch as arch,
    available as available,
    compile_with as compile_with,
    cupy as cupy,
    missing as missing,
    name as name,
    on_gpu as on_gpu,
    to_device as to_device,
    to_host as to_host,
    wait as wait,
)
from .kernel_source import (
    C_LINKAGE as C_LINKAGE,
    c_symbol as c_symbol,
    cell as cell,
    unit as unit,
    usual as usual,
)
