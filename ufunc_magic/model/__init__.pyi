from .cell_place import CellPlace as CellPlace, line_mark as line_mark
from .comfort import Comfort as Comfort
from .errors import (
    FAULTS as FAULTS,
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
from .files_read import FilesRead as FilesRead
from .languages import (
    LANGUAGES as LANGUAGES,
    LanguageEntry as LanguageEntry,
    language_key as language_key,
    own_views as own_views,
    source_suffix as source_suffix,
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
from .option_keywords import OptionKeywords as OptionKeywords
from .options import (
    MOST_TIMED as MOST_TIMED,
    TABLE as TABLE,
    TIME as TIME,
    Option as Option,
    Options as Options,
    chooses_cpu as chooses_cpu,
    make_options as make_options,
    names_for as names_for,
    read_core_sizes as read_core_sizes,
    refuse as refuse,
    suited as suited,
    with_options as with_options,
)
from .report_data import CellFunction as CellFunction, CompiledCell as CompiledCell, ReportData as ReportData
from .signature import (
    MAX_OPERANDS as MAX_OPERANDS,
    RECORD as RECORD,
    TYPES as TYPES,
    BodyFacts as BodyFacts,
    ConstReferenceParameter as ConstReferenceParameter,
    ContainerParameter as ContainerParameter,
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
