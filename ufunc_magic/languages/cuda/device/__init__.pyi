from .cell_memory import CellMemory as CellMemory
from .cuda_function import CudaFunction as CudaFunction
from .cuda_kernel import Kernel as Kernel, KernelFamily as KernelFamily, Launch as Launch
from .device_binder import bind as bind, group as group, open_memory as open_memory
from .device_timing import copy_bandwidth as copy_bandwidth, time_call as time_call, time_function as time_function
from .driver import (
    arch as arch,
    available as available,
    cupy as cupy,
    missing as missing,
    name as name,
    on_gpu as on_gpu,
    to_device as to_device,
    to_host as to_host,
    versions as versions,
    wait as wait,
)
from .kernel_source import cell as cell, unit as unit, usual as usual
