"""The values that all rooms share: frozen, made of text and numbers.  Imports no other room.

``options`` has the options of a cell, ``signature`` describes a function as NumPy sees it, ``object_code`` is compiled
code that can be sent, ``report_data`` is what only the report needs, ``errors`` has diagnostics and exceptions,
``cell_place`` counts lines where a source is shown, and ``comfort`` turns exceptions of optional parts into notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .cell_place import CellPlace as CellPlace, line_mark as line_mark
    from .comfort import Comfort as Comfort
    from .errors import (
        ArgumentError as ArgumentError,
        CacheError as CacheError,
        CellAssertionError as CellAssertionError,
        CellCrashed as CellCrashed,
        CellExited as CellExited,
        ComparisonError as ComparisonError,
        CompileError as CompileError,
        Diagnostic as Diagnostic,
        LinkError as LinkError,
        OptionError as OptionError,
        ParseError as ParseError,
        SaveError as SaveError,
        SignatureError as SignatureError,
        TargetError as TargetError,
        ToolchainError as ToolchainError,
        UfuncMagicError as UfuncMagicError,
        UnboundFunction as UnboundFunction,
    )
    from .object_code import (
        FunctionCode as FunctionCode,
        LoopCode as LoopCode,
        ObjectCode as ObjectCode,
        Target as Target,
        check_contract as check_contract,
        is_signed as is_signed,
        pack as pack,
        required_glibc as required_glibc,
        unpack as unpack,
        with_contract as with_contract,
    )
    from .option_keywords import (
        OptionKeywords as OptionKeywords,
        names_for as names_for,
        with_options as with_options,
    )
    from .options import (
        LANGUAGES as LANGUAGES,
        MOST_TIMED as MOST_TIMED,
        TABLE as TABLE,
        TIME as TIME,
        Option as Option,
        Options as Options,
        chooses_cpu as chooses_cpu,
        make_options as make_options,
        refuse as refuse,
        suited as suited,
    )
    from .report_data import CellFunction as CellFunction, CompiledCell as CompiledCell, ReportData as ReportData
    from .signature import (
        MAX_OPERANDS as MAX_OPERANDS,
        RECORD as RECORD,
        TYPES as TYPES,
        ConstReferenceParameter as ConstReferenceParameter,
        Function as Function,
        Member as Member,
        NumberType as NumberType,
        Operand as Operand,
        Parameter as Parameter,
        ReferenceParameter as ReferenceParameter,
        Signature as Signature,
        Unit as Unit,
        core_size as core_size,
        core_size_text as core_size_text,
        loop_order as loop_order,
        number_type as number_type,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cell_place": "CellPlace line_mark",
            "comfort": "Comfort",
            "errors": (
                "ArgumentError CacheError CellAssertionError CellCrashed CellExited ComparisonError CompileError "
                "Diagnostic LinkError OptionError ParseError SaveError SignatureError TargetError ToolchainError "
                "UfuncMagicError UnboundFunction"
            ),
            "object_code": (
                "FunctionCode LoopCode ObjectCode Target check_contract is_signed pack required_glibc unpack "
                "with_contract"
            ),
            "option_keywords": "OptionKeywords names_for with_options",
            "options": "LANGUAGES MOST_TIMED Option Options TABLE TIME chooses_cpu make_options refuse suited",
            "report_data": "CellFunction CompiledCell ReportData",
            "signature": (
                "ConstReferenceParameter Function MAX_OPERANDS Member NumberType Operand Parameter RECORD "
                "ReferenceParameter Signature TYPES Unit core_size core_size_text loop_order number_type"
            ),
        },
    )
