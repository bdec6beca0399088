from .dialects import cython_text as cython_text, numexpr_text as numexpr_text
from .dynamic_form import FormRequest as FormRequest, write_forms as write_forms
from .function_form import write as write
from .integer_rules import Watched as Watched, agreeing_text as agreeing_text
from .random_rounding import at_random as at_random
from .runtime_names import namespace as namespace
from .value import NotPython as NotPython, PythonForm as PythonForm
