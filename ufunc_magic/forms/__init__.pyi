from .dialects import write_cython as write_cython, write_numexpr as write_numexpr
from .dynamic_form import FormRequest as FormRequest, write_forms as write_forms
from .function_form import write as write
from .integer_rules import Watched as Watched, write_agreeing_text as write_agreeing_text
from .random_rounding import round_at_random as round_at_random
from .runtime_names import make_namespace as make_namespace
from .value import NotPython as NotPython, PythonForm as PythonForm
