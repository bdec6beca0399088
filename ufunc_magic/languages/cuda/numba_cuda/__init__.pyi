from .device_calls import (
    Form as Form,
    ValueType as ValueType,
    choose as choose,
    describe_mismatch as describe_mismatch,
    explain_numba_refusal as explain_numba_refusal,
    list_forms as list_forms,
)
from .numba_cuda_extension import attach as attach, install as install
