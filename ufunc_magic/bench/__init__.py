"""Checks candidates against expected results, times them in turns, and judges them by the limits of the machine.

Every comparison takes one road: ``cell_report`` (the functions of a build) or `compare` (any callables) makes a
`Request`; `compare_request` prepares its entries, which are checked on the way, times them in turns and judges them.
The results are a `Comparison` or a `Report` of ``render``.

``comparing``    the road, and `compare`
``request``      candidates, inputs, expectations, budget: everything that a comparison needs
``elementwise``  entries of a ufunc; ``python_calls`` of a Python function; ``callables`` of any callables, over sizes
``expectation``  the equality step: expected results; ``agreement`` measures how far others differ
``rounds``       the measuring step: the clock, calls in turns
``judging``      the judging step: rows with speed-ups and verdicts
``machine``      bandwidth, caches and load; ``loop_reports`` the compiler's reports on loops
``stored_tables``  tables that an earlier process measured, kept in the cache
``verdict``      one answer of a report, for `ufunc_magic.verify`; ``confirming`` looks a second time
``samples``      arguments in a function's domain, sizes
``candidates``   makes candidates callable; ``rivals`` of a cell's function: Python, NumPy, Numba, numexpr, Cython
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
