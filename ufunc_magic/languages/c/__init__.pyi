from .c_language import LANGUAGE as LANGUAGE, WORDS as WORDS
from .c_text import (
    Directives as Directives,
    Text as Text,
    blank_out_literals as blank_out_literals,
    find_words as find_words,
    read as read,
)
from .c_tree import Node as Node, parse_tree as parse_tree, take_text as take_text, walk as walk, walk_up as walk_up
from .c_unit import compile as compile, write_python_forms as write_python_forms
from .cffi_types import type_definitions as type_definitions
from .declarations import (
    CText as CText,
    Declaration as Declaration,
    TemplateParameter as TemplateParameter,
    read_declarations as read_declarations,
    read_template_parameters as read_template_parameters,
)
from .intrinsics import find_stand_ins as find_stand_ins
from .lowering import lower as lower
from .parser import parse as parse, parse_cell as parse_cell
from .plain_functions import BUILTIN as BUILTIN
