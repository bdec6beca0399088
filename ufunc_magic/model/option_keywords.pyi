from collections.abc import Sequence
from typing import TypedDict

class OptionKeywords(TypedDict, total=False):
    types: str | Sequence[str] | None
    signature: str | None
    identity: str | int | None
    cplus: bool
    language_level: int
    strict: bool
    fast_math: bool
    parallel: int | bool
    arch: str
    compile_args: str | Sequence[str]
    link_args: str | Sequence[str]
    lib: str | Sequence[str]
    library_dirs: str | Sequence[str]
    include: str | Sequence[str]
    src: str | Sequence[str]
    wrap: str | Sequence[str]
    pgo: bool
    torch: bool
    cdef: bool
    annotate: bool
    annotate_fullc: bool
    device: str
    abi: str
    run_main: str | bool
    guard: bool
    sanitize: bool
    sandbox: bool
    force: bool
    name: str
    verbose: bool
    time: float | bool | str
    size: int
    core: str
    data: str
    ref: str
    vs: str
    sizes: str
    plot: bool
    show: str
