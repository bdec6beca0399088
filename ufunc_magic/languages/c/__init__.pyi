from .c_forms import python_forms as python_forms
from .c_frontend import key as key
from .c_language import LANGUAGE as LANGUAGE, WORDS as WORDS
from .c_text import Text as Text, blank_literals as blank_literals, read as read, words as words
from .c_tree import CText as CText, Node as Node, text_of as text_of, tree as tree, walk as walk
from .c_unit import compile as compile
from .cffi_types import type_definitions as type_definitions
from .declarations import (
    TemplateParameter as TemplateParameter,
    declared_by as declared_by,
    template_parameters as template_parameters,
)
from .intrinsics import stand_for as stand_for
from .lowering import lower as lower
from .parser import parse as parse, parse_cell as parse_cell
from .plain_functions import BUILTIN as BUILTIN
