"""Small libraries in place of large ones: only the part of the C library that a linker reads.

A linker takes from a shared library the names that an object asks for, with their versions; that it reads thousands to
find five is most of the time it takes.  A stand-in has the large library's own name and the names, with versions, that
cells are likely to use.  What is linked against it is what would have been linked against the large one.  An
object that asks for more does not link, and then the compiler's driver links it against the large ones.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
from collections.abc import Sequence

from .. import store
from ..compilers import Toolchain, read_output, run_command
from ..model import ToolchainError

#: Library, as ``-l`` names it -> names that its stand-ins have: each costs the linker 5 us.
_NAMES = {
    # libm without long double, _Float32 and its kin, <fenv.h>, and C23's; libmvec without AVX's variants.
    "m": (
        r"(?!\w*(f\d+x?|l|_r)$|fm\w+(um|mag)|u?fromfp|total|[gs]etpay|canon|fe)[a-z]\w*|ceil|_ZGV[bden]N\w+|"
        r"__(fpclassify|signbit|isnan|isinf|finite)f?"
    ),
    # Functions of the driver of our loops, then those that cells use.
    "c": (
        r"__errno_location|__tls_get_addr|__libc_single_threaded|clock(_gettime)?|fflush|free|[mc]alloc|realloc|mem(cpy|move|set|cmp|chr)|"
        r"v?[fsd]?n?printf|mmap|munmap|mprotect|dl_iterate_phdr|sig(action|altstack|procmask|longjmp|delset|fillset|emptyset)|syscall|write|"
        r"getpid|getenv|(__)?getauxval|sysconf|program_invocation_short_name|__sched_cpucount|sched_(getaffinity|yield)|"
        r"pthread_(create|detach|join|kill|self|sigmask|cond_(broadcast|signal|timedwait|wait)|mutex_(lock|unlock))|"
        r"__cxa_finalize|__stack_chk_fail|__(memcpy|memset|memmove|[fds]?n?printf)_chk|__assert_fail|_?longjmp|_setjmp|"
        r"__sigsetjmp|abort|exit|l?l?abs|l?l?div|qsort|bsearch|s?rand(om)?|rand_r|[de]rand48|ato[fil]|"
        r"(__isoc23_)?strto(d|f|u?ll?)|str(len|n?cmp|n?cpy|cat|r?chr|str)|puts|putchar|putc|fput[cs]|fwrite|std(in|out|err)|"
        r"__ctype_(b|tolower|toupper)_loc|to(lower|upper)|time|gettimeofday|nanosleep|aligned_alloc|posix_memalign"
    ),
    "gcc_s": r"_Unwind_Resume",
    # Exceptions, memory, containers, strings, std::cout.
    "stdc++": (
        r"__cxa_\w+|__gxx_personality_v0|__dynamic_cast|_Z(nw|na|dl|da)\w+|_ZSt(9terminatev|\d+(__throw|_Rb_tree)_\w+)|"
        r"_ZT[ISV](N10__cxxabiv1\w+|St\d+([a-z]+_error|exception|bad_\w+|out_of_range|invalid_argument)|[a-z])|"
        r"_ZNK?St\d+([a-z]+_error|exception|bad_[a-z]+|out_of_range|invalid_argument)\w+|"
        r"_ZNK?St7__cxx1112basic_stringIcS\w+|_ZNK?St8__detail\w+|_ZNSolsE\w+|_ZNSo(3put|5flush)\w+|_ZSt4c(out|err)|"
        r"_ZSt(ls|4endl|16__ostream_insert)\w+|_ZNSt8ios_base4Init\w+"
    ),
}
#: Arm64's vector functions are marked: they leave more registers as they are.
_SYMBOL = re.compile(
    r" (FUNC|IFUNC|OBJECT|NOTYPE) +(?:GLOBAL|WEAK|UNIQUE) +DEFAULT +(\[VARIANT_PCS\] +)?\d+ (\w+)@@([\w.]+)$", re.M
)


def use_stand_ins(toolchain: Toolchain, words: Sequence[str], folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """Replace the C and C++ libraries in a linker's command by stand-ins, as far as they can be made.

    Parameters
    ----------
    words : sequence of str
        The command.
    folder : pathlib.Path
        For the files of this work.

    Returns
    -------
    words, files : list of str
        The command; the stand-ins and their libraries.
    """
    result, files = list(words), list[str]()
    for name, pattern in _NAMES.items():
        libraries = _find_libraries(name, words) if f"-l{name}" in words else []
        try:
            small = [_make_stand_in(toolchain, library, pattern, folder) for library in libraries]
        except ToolchainError:
            continue
        if small:
            files += [*libraries, *small]
            instead = ["--push-state", "--as-needed", *small, "--pop-state"]
            if name == "gcc_s":  # a script that names both
                instead.append("-lgcc")
            result = [w for word in result for w in (instead if word == f"-l{name}" else [word])]
    return result, files


def _find_libraries(name: str, words: Sequence[str]) -> list[str]:
    """The shared libraries that ``-lNAME`` means, where they are those of glibc or gcc."""
    folders = [word[2:] for word in words if word.startswith("-L")]
    roots = [word.removeprefix("--sysroot=") for word in words if word.startswith("--sysroot=")]
    for path in (os.path.join(folder, f"lib{name}.so") for folder in folders):
        try:
            with open(path, "rb") as file:
                head = file.read(4096)
        except OSError:
            continue
        if head.startswith(b"\x7fELF"):
            return [os.path.realpath(path)] if name == "stdc++" else []
        # A script of the linker, such as "GROUP ( /lib/libm.so.6 AS_NEEDED ( /lib/libmvec.so.1 ) )".
        listed = re.findall(r"[^\s()]+\.so\.\d+", re.sub(r"/\*.*?\*/", "", head.decode(errors="replace"), flags=re.S))
        places = [
            [*(root + library for root in roots), *(os.path.join(f, library) for f in folders)] for library in listed
        ]
        libraries = [next(filter(os.path.exists, paths), "") for paths in places]
        return libraries if all(libraries) else []
    return []


def _make_stand_in(toolchain: Toolchain, library: str, pattern: str, folder: pathlib.Path) -> str:
    """The stand-in for a library, in the cache."""
    stat, cache = os.stat(library), store.open_default()
    key = store.make_key(["stand-in 1", library, f"{stat.st_size} {stat.st_mtime_ns}", pattern])
    entry = cache.get(key)
    if entry is None:
        output = folder / "stand_in.so"
        command = [*toolchain.command, "-shared", "-nostdlib", "-x", "assembler", "-", "-o", str(output)]
        text, versions, soname = _write_stand_in(
            read_output([shutil.which("readelf") or "", "-W", "-d", "--dyn-syms", library]), pattern
        )
        script = cache.write_scratch(folder / "stand_in.map", versions)
        linker = f"-Wl,--version-script={script},-soname,{soname},-s,--hash-style=gnu"
        done = run_command([*command, linker], text, folder)
        if done.status or not versions:
            raise ToolchainError(f"No stand-in for {library}: {done.messages}", remedy="Link the library.")
        entry = cache.publish(key, record=b"", code=output.read_bytes())
    return str(entry.library)


def _write_stand_in(listing: str, pattern: str) -> tuple[str, str, str]:
    """A library in assembly, its version script, its name, of what readelf lists of a library."""
    versions: dict[str, list[str]] = {}
    lines = []
    for kind, vector, name, version in _SYMBOL.findall(listing):
        if version != "GLIBC_PRIVATE" and re.fullmatch(pattern, name):
            versions.setdefault(version, []).append(name)
            mark = f".variant_pcs {name}\n" if vector else ""
            what = "object" if kind == "OBJECT" else "function"
            lines.append(f"{mark}.globl {name}\n.type {name},@{what}\n{name}:\n")
    script = "".join(f"{version} {{ {'; '.join(names)}; }};\n" for version, names in versions.items())
    soname = re.search(r"Library soname: \[(.+)\]", listing)
    return "".join(lines), script, soname[1] if soname else ""
