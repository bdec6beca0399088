from .c_language import LANGUAGE as LANGUAGE, WORDS as WORDS
from .c_text import Text as Text, blank_literals as blank_literals, read as read, words as words
from .c_tree import Node as Node, text_of as text_of, tree as tree, walk as walk
from .c_unit import compile as compile, write_python_forms as write_python_forms
from .cffi_types import type_definitions as type_definitions
from .declarations import (
    CText as CText,
    TemplateParameter as TemplateParameter,
    read_declarations as read_declarations,
    template_parameters as template_parameters,
)
from .intrinsics import stand_for as stand_for
from .lowering import lower as lower
from .parser import parse as parse, parse_cell as parse_cell
from .plain_functions import BUILTIN as BUILTIN
