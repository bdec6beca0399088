"""New code runs in another process first (trial); with ``--sandbox``, every call does.

`try_out` takes a newly compiled `CompiledCell` and returns it with notes and without the functions that failed, or
raises `CellCrashed`.

===============  ======================================================================================
`trial`          runs every loop in the helper process and decides which functions are bound
`trial_inputs`   chooses the values, also from a function's text
`messages`       describes a crash
`sanitize`       repeats the trial in a build with sanitizers
`sandbox`        sends every call of a function to another process
`guard_process`  starts the helper process and sends it requests; ``helper/`` is the helper's program
===============  ======================================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
