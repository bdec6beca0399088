"""Checks candidates against each other, times them in turns, and compares them with the limits of the machine.

The room takes callables, or a build with its Python forms, and returns a `Comparison` or a `Report` of ``render``.

``candidates``   makes candidates callable and calls them once
``rivals``       a cell's function for Python, NumPy, Numba, numexpr, Cython
``samples``      arguments in a function's domain, sizes
``expectation``  expected results; ``agreement`` measures how far others differ
``rounds``       the clock: calls in turns
``machine``      the bandwidth of the machine; rows with speed-ups and their share of it
``function_table`` one function of a cell: its request, its table
``comparing``    `compare`: any callables, at one size or over many
``cell_report``  `report`: the functions of a build; rows of a device
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
