from .c_forms import python_forms as python_forms
from .c_frontend import key as key
from .c_language import LANGUAGE as LANGUAGE, WORDS as WORDS
from .c_text import Text as Text, read as read
from .c_tree import CText as CText
from .c_unit import compile as compile
from .cffi_types import type_definitions as type_definitions
from .intrinsics import stand_for as stand_for
from .lowering import lower as lower
from .parser import parse as parse, parse_cell as parse_cell
from .plain_functions import BUILTIN as BUILTIN
