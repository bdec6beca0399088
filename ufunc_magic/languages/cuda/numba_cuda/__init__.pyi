from .device_calls import (
    Form as Form,
    ValueType as ValueType,
    choose as choose,
    forms as forms,
    mismatch as mismatch,
    refusal as refusal,
)
from .numba_cuda_extension import attach as attach, install as install
