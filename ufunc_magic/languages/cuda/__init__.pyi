from .cuda_frontend import make_key as make_key
from .cuda_language import LANGUAGE as LANGUAGE
from .cuda_program import compile_program as compile_program, run_program as run_program
from .cuda_unit import compile as compile
