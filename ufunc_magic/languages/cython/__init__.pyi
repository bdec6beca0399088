from .annotate import Annotated as Annotated
from .cython_frontend import make_key as make_key
from .cython_language import LANGUAGE as LANGUAGE
from .cython_unit import compile as compile
from .python_headers import has_headers as has_headers, is_cplus as is_cplus, precompile_headers as precompile_headers
