"""Object code to ufuncs and back to bytes: all that a worker needs; it reaches no compiler.

In goes ObjectCode, or its bytes; out come NumPy ufuncs and functions, as a `Build`. ``registry`` opens object code
once (`load`, `find_loaded`), with ``loader`` for libraries and modules; ``numpy_ufunc``, ``promotion`` (no number is
narrowed silently), ``def_function`` (a def that stays one), ``records`` (structures), ``sized_calls`` (numbers that
give sizes) and ``cffi_function`` are for the functions, ``bound_function`` for those that a language binds itself;
``pickling`` is pickles, `dumps` and `loads`;
``named_module`` is a module as the notebook has it, ``class_files`` lets other processes import a cell's classes,
``openmp`` ends OpenMP's threads before a fork;
``faults`` describes what ended a call, ``line_table`` reads its line from debug information,
``cell_names`` is what messages of running code call their cells; ``exception_codec`` and ``c_library`` are for code
that runs. A ufunc carries its `UfuncLoops` (`find_loops`), which keep the `LoadedObject`; `find_origin` finds
where a function comes from.  ``locks`` has the locks that keep threads from doing the same thing twice.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
