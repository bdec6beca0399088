from .containers import CONTAINERS as CONTAINERS, TEXTS as TEXTS, VIEWS as VIEWS
from .float_conversions import find_conversions as find_conversions
from .loop_types import (
    INSTRUCTIONS as INSTRUCTIONS,
    NO_VECTORS as NO_VECTORS,
    Instance as Instance,
    VectorMath as VectorMath,
    callee as callee,
    cplus_type as cplus_type,
    type_numbers as type_numbers,
    type_text as type_text,
)
from .loops import template as template
from .plain_calls import Exports as Exports, contained as contained
from .unit import (
    Translation as Translation,
    append as append,
    c_string as c_string,
    copy as copy,
    driver as driver,
    exceptions as exceptions,
    in_terms_of_t as in_terms_of_t,
    inline_definitions as inline_definitions,
    instances as instances,
    prefix_of as prefix_of,
    reached as reached,
    read_records as read_records,
    read_types as read_types,
    show_only as show_only,
    translate as translate,
    types_wanted as types_wanted,
    vector_math as vector_math,
    with_headers as with_headers,
)
