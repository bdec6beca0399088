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
from .process_calls import find_process_calls as find_process_calls
from .unit import (
    Translation as Translation,
    append as append,
    choose_types as choose_types,
    copy as copy,
    find_reached as find_reached,
    inline_definitions as inline_definitions,
    insert_headers as insert_headers,
    make_instances as make_instances,
    make_prefix as make_prefix,
    quote_c as quote_c,
    read_records as read_records,
    read_types as read_types,
    show_only as show_only,
    translate as translate,
    uses_t as uses_t,
    write_driver as write_driver,
    write_exceptions as write_exceptions,
    write_vector_math as write_vector_math,
)
