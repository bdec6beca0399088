from .cell_memory import CellMemory as CellMemory
from .cuda_function import CudaFunction as CudaFunction
from .cuda_kernel import Kernel as Kernel, KernelFamily as KernelFamily, Launch as Launch
from .device_binder import bind as bind, group as group, open_memory as open_memory
from .device_timing import copy_bandwidth as copy_bandwidth, time_call as time_call, time_function as time_function
from .driver import (
    describe_versions as describe_versions,
    explain_missing as explain_missing,
    find_arch as find_arch,
    import_cupy as import_cupy,
    is_available as is_available,
    name as name,
    runs_on_gpu as runs_on_gpu,
    to_device as to_device,
    to_host as to_host,
    wait as wait,
)
from .kernel_source import (
    write_cell as write_cell,
    write_kernel_unit as write_kernel_unit,
    write_usual_kernels as write_usual_kernels,
)
