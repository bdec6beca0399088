"""The IR: a function of a cell as a typed value, made once by its language's lowerer and read by everybody else.

================  ===================================================================================
`constants`       the values of constant expressions and of headers' constants
`effects`         what functions do to their pointers and to the world, calls followed
`index_bounds`    pointers whose length one of the integers is, by the loops around their indices
`loop_places`     where a function repeats statements
`math_functions`  C's mathematical library: names, Python's and NumPy's words, derivatives, costs
`memory_roots`    whose memory an expression leads to; nodes of Python's own that only calculate
`nodes`           statements and expressions, with C types and places; symbols; functions; walks over them
`types`           C's types, their conversions, constants and ranges
`value_uses`      parameters that are indices of arrays, arrays that are searched in rising order
================  ===================================================================================

What the IR cannot say is an `OpaqueExpression` or an `OpaqueStatement` with a reason, the symbols that it may read and
write, and its text.  A function with one is compiled as ever.  A reader that needs the whole body reports the reason.
"""

from __future__ import annotations

from .constants import (
    evaluate as evaluate,
    evaluate_integer as evaluate_integer,
    find_header_constant as find_header_constant,
)
from .effects import Effects as Effects, PointerEffect as PointerEffect, find_effects as find_effects
from .index_bounds import find_index_bounds as find_index_bounds
from .length_hints import LengthHint as LengthHint, find_length_hints as find_length_hints
from .loop_places import GOTO as GOTO, find_loop_lines as find_loop_lines, find_loops as find_loops, repeats as repeats
from .math_functions import (
    CONSTANTS as CONSTANTS,
    LIMITS as LIMITS,
    MATH_FUNCTIONS as MATH_FUNCTIONS,
    MathFunction as MathFunction,
    count_arguments as count_arguments,
    find_math_function as find_math_function,
    is_declared_by as is_declared_by,
    is_float_function as is_float_function,
    is_pure as is_pure,
    list_c_names as list_c_names,
    list_complex_vectors as list_complex_vectors,
    list_generic_functions as list_generic_functions,
    list_vector_functions as list_vector_functions,
    spell_c_name as spell_c_name,
)
from .memory_roots import ALLOCATE as ALLOCATE, place_roots as place_roots
from .nodes import (
    NOWHERE as NOWHERE,
    AddressOf as AddressOf,
    Aggregate as Aggregate,
    Arm as Arm,
    Assert as Assert,
    Assignment as Assignment,
    Binary as Binary,
    Block as Block,
    Break as Break,
    Comma as Comma,
    Conditional as Conditional,
    Constant as Constant,
    Continue as Continue,
    Convert as Convert,
    CountedFor as CountedFor,
    Current as Current,
    Declare as Declare,
    DoWhile as DoWhile,
    Dynamic as Dynamic,
    DynamicStatement as DynamicStatement,
    Element as Element,
    Evaluate as Evaluate,
    Expression as Expression,
    Field as Field,
    For as For,
    ForEach as ForEach,
    FunctionCall as FunctionCall,
    FunctionIR as FunctionIR,
    If as If,
    Length as Length,
    Logical as Logical,
    Name as Name,
    Node as Node,
    OpaqueExpression as OpaqueExpression,
    OpaqueStatement as OpaqueStatement,
    ParallelAssignment as ParallelAssignment,
    Place as Place,
    Position as Position,
    Program as Program,
    Raise as Raise,
    Return as Return,
    Statement as Statement,
    Storage as Storage,
    StringLiteral as StringLiteral,
    Switch as Switch,
    Symbol as Symbol,
    Unary as Unary,
    Unpack as Unpack,
    While as While,
    is_truth as is_truth,
    list_children as list_children,
    strip_conversions as strip_conversions,
    walk as walk,
)
from .types import (
    BOOL as BOOL,
    CHARACTERS as CHARACTERS,
    COMPLEX as COMPLEX,
    CONTAINER as CONTAINER,
    DOUBLE as DOUBLE,
    FLOAT as FLOAT,
    FUNCTION as FUNCTION,
    INDEX as INDEX,
    INT as INT,
    LONG as LONG,
    OBJECT as OBJECT,
    SIZE as SIZE,
    UINT as UINT,
    VOID as VOID,
    CType as CType,
    convert_usually as convert_usually,
    find_named_type as find_named_type,
    find_result_range as find_result_range,
    from_number as from_number,
    make_array_type as make_array_type,
    promote as promote,
    read_float as read_float,
    read_integer as read_integer,
    round_to_float as round_to_float,
    type_fault as type_fault,
)
from .value_uses import find_value_uses as find_value_uses
