from .cell_place import CellPlace as CellPlace, mark_line as mark_line
from .comfort import Comfort as Comfort
from .errors import (
    FAULTS as FAULTS,
    STD_EXCEPTIONS as STD_EXCEPTIONS,
    ArgumentError as ArgumentError,
    CacheError as CacheError,
    CellAssertionError as CellAssertionError,
    CellCrashed as CellCrashed,
    CellExited as CellExited,
    CellIndexError as CellIndexError,
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
    find_language_key as find_language_key,
    find_language_of_suffix as find_language_of_suffix,
    find_source_suffix as find_source_suffix,
    own_views as own_views,
)
from .number_types import (
    MAX_OPERANDS as MAX_OPERANDS,
    RECORD as RECORD,
    TYPES as TYPES,
    NumberType as NumberType,
    OperandUse as OperandUse,
    compute_core_size as compute_core_size,
    find_core_names as find_core_names,
    number_type as number_type,
    rank_loop as rank_loop,
    split_core_groups as split_core_groups,
    write_core_size as write_core_size,
)
from .object_code import (
    OWN_TYPES as OWN_TYPES,
    FunctionCode as FunctionCode,
    LoopCode as LoopCode,
    ObjectCode as ObjectCode,
    Target as Target,
    add_contract as add_contract,
    check_contract as check_contract,
    find_required_glibc as find_required_glibc,
    is_signed as is_signed,
    pack as pack,
    unpack as unpack,
)
from .option_keywords import OptionKeywords as OptionKeywords
from .options import (
    MOST_TIMED as MOST_TIMED,
    TABLE as TABLE,
    TIME as TIME,
    Option as Option,
    Options as Options,
    chooses_cpu as chooses_cpu,
    list_names as list_names,
    make_options as make_options,
    read_core_sizes as read_core_sizes,
    refuse as refuse,
    suit_options as suit_options,
    take_options as take_options,
)
from .report_data import (
    UNTRIED as UNTRIED,
    CellFunction as CellFunction,
    CompiledCell as CompiledCell,
    ReportData as ReportData,
)
from .signature import (
    BodyFacts as BodyFacts,
    ConstReferenceParameter as ConstReferenceParameter,
    ContainerParameter as ContainerParameter,
    Function as Function,
    IndexUse as IndexUse,
    Member as Member,
    Operand as Operand,
    Parameter as Parameter,
    ReferenceParameter as ReferenceParameter,
    Signature as Signature,
    Unit as Unit,
    ValueUse as ValueUse,
)
