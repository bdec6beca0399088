"""Cython's private names, all in one place.  Tried with Cython 3.1, 3.2 and 3.3.

Cython promises none of them.  Where one is gone, or Cython is absent or too old, importing this file is a
`ToolchainError`: no Cython cell can be compiled then, and everything else goes on working.
"""

from __future__ import annotations

import sys
from typing import Any

from ...model import ToolchainError


def describe_unknown_cython(what: object) -> ToolchainError:
    """The error of a Cython whose insides are not those that this package knows."""
    return ToolchainError(
        f"Cython cells need Cython 3.1 to 3.3: {what}.",
        remedy=f'{sys.executable} -m pip install "ufunc_magic[cython]" "cython>=3.1,<3.4"',
    )


try:
    from Cython.Compiler import (
        Errors as Errors,
        ExprNodes as ExprNodes,
        Main as Main,
        Naming as Naming,
        Nodes as Nodes,
        Options as Options,
        Pipeline as Pipeline,
        PyrexTypes as PyrexTypes,
    )
    from Cython.Compiler.Code import UtilityCode as UtilityCode
    from Cython.Compiler.FusedNode import FusedCFuncDefNode as FusedCFuncDefNode
    from Cython.Compiler.ParseTreeTransforms import (
        AnalyseExpressionsTransform as AnalyseExpressionsTransform,
        ExpandInplaceOperators as ExpandInplaceOperators,
    )
    from Cython.Compiler.StringEncoding import EncodedString as EncodedString
    from Cython.Compiler.Version import version as version, watermark as watermark
    from Cython.Compiler.Visitor import VisitorTransform as VisitorTransform
    from Cython.Utils import (
        clear_function_caches as clear_function_caches,
        find_root_package_dir as find_root_package_dir,
    )
except ImportError as error:
    raise describe_unknown_cython(error) from error

if tuple(map(int, version.split(".")[:2])) < (3, 1):
    raise describe_unknown_cython(f"{version} is installed")

_USED: dict[Any, str] = {
    Errors: "threadlocal init_thread CompileError CompilerCrash",
    Main: "CompilationOptions CompilationSource Context FileSourceDescriptor create_default_resultobj "
    "standard_include_path",
    Main.Context: "from_options search_include_directories",
    Naming: "retval_cname generator_cname local_tstate_cname sent_value_cname",
    Nodes: "CompilerDirectivesNode FuncDefNode GILStatNode LoopNode ParallelStatNode StatListNode",
    Nodes.DefNodeWrapper: "generate_function_body error_value",
    Nodes.GeneratorBodyDefNode: "generate_function_header",
    Options: "default_options _directive_defaults",
    Pipeline: "create_pyx_pipeline run_pipeline",
    PyrexTypes: "c_bint_type c_long_type c_double_type c_void_type simple_c_type spanning_type widest_numeric_type",
}
for _module, _names in _USED.items():
    for _name in _names.split():
        if not hasattr(_module, _name):
            raise describe_unknown_cython(f"{_module.__name__} has no {_name}")

#: The folder of the .pxd files that come with Cython.
standard_include_path: str = Main.standard_include_path
#: Names of directives, ``boundscheck`` and the like.
DIRECTIVES: tuple[str, ...] = tuple(Options._directive_defaults)
#: The functions of the cell are between these comments of Cython's C.
CODE_SECTION = "/* #### Code section: module_code ### */"
TYPES_SECTION = "/* #### Code section: module_exttypes ### */"
