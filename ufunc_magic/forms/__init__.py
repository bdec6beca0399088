"""Functions as plain Python: the baseline that is timed, what results are checked against, and what rivals are made of.

In comes a `Program` of the IR with a signature (`write`), or that of a Cython cell with the functions of it that are
wanted (`write_forms`); out comes a `PythonForm`, three texts of the function, or a `NotPython` with the reason.

* `value`: expressions as ``ast`` nodes with what is known of their values; forms; nodes to text.
* `function_form`: the road from a function of the IR to its texts; `module_scope`: what they need beside it.
* `python_writer`, `expression_writer`, `operators`: statements, expressions, C's operators and conversions as Python's.
* `marks`: where C's rules may matter, and how each text spells that.
* `integer_rules`: where C's integers may differ from Python's, and what a person writes who knows the inputs.
* `operand_lists`: a ufunc's operands as parameters, nested lists and results.
* `math_names`, `runtime_names`, `random_rounding`: C's library in Python's words, and what the texts run with.
* `dynamic_form`, `dynamic_writer`: Cython's functions, with Python's objects, division and loops.
* `numpy_writer`: a function of the IR over whole arrays; `dialects`: numexpr and Cython, from the other texts.
* `purity`: whether a Python function does nothing but calculate.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
