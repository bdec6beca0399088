"""Compilers are found without being run, run without leaving anything behind, and read on the cell's lines."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from support import replace_name, wait_until
from ufunc_magic import compilers
from ufunc_magic.compilers import (
    Description,
    Toolchain,
    UnitOrigin,
    compile_object,
    compile_shared,
    describe,
    description,
    discovery,
    find,
    list_base_flags,
    list_base_link_options,
    preprocess,
    processes,
    run_jobs,
)
from ufunc_magic.compilers.description import examine, read_description
from ufunc_magic.model import CompileError, LinkError, ToolchainError

NAME = "In[3]"
#: Exports by an attribute, as generated code does.
PUBLIC = '__attribute__((visibility("default"))) '
CPLUS_PUBLIC = 'extern "C" ' + PUBLIC

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
posix = pytest.mark.skipif(os.name != "posix", reason="needs shell scripts")


def program(folder: Path, name: str, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def without_ziglang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery.importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)


# ------------------------------------------------------------------------------------------- find


@posix
@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize(
    ("present", "cplus", "expected"),
    [
        (["gcc", "clang", "cc"], False, "gcc"),
        (["clang", "cc"], False, "clang"),
        (["cc"], False, "cc"),
        (["gcc", "g++", "clang++"], True, "g++"),
        (["gcc", "clang++", "c++"], True, "clang++"),
    ],
)
def test_the_best_of_the_path_is_taken(tmp_path, present, cplus, expected):
    for name in present:
        program(tmp_path, name)
    found = find(cplus=cplus, environ={"PATH": str(tmp_path)})
    assert (found.command, found.origin, found.cplus) == ((str(tmp_path / expected),), "PATH", cplus)


@posix
@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize(
    ("variables", "cplus", "expected"),
    [
        ({"CC": "mycc-13"}, False, ["mycc-13"]),
        ({"CC": "ccache mycc-13 -m64"}, False, ["ccache", "mycc-13", "-m64"]),
        ({"CC": "mycc-13", "CXX": "my++ -O1"}, True, ["my++", "-O1"]),
        ({"CC": "x-gcc-13"}, True, ["x-g++-13"]),
        ({"CC": "clang-17"}, True, ["clang++-17"]),
        ({"CC": "zig cc"}, True, ["zig", "c++"]),
        ({"CC": "python-zig cc"}, True, ["python-zig", "c++"]),
    ],
)
def test_cc_and_cxx_are_honoured_with_their_arguments(tmp_path, variables, cplus, expected):
    for name in ("ccache", "mycc-13", "my++", "x-g++-13", "clang++-17", "zig", "python-zig", "gcc", "g++"):
        program(tmp_path, name)
    command = find(cplus=cplus, environ={"PATH": str(tmp_path), **variables}).command
    assert [os.path.basename(word) for word in command] == expected


@posix
def test_the_program_behind_a_launcher_and_links_is_the_identity(tmp_path):
    real = program(tmp_path / "lib", "gcc-13", "#!/bin/sh\n# real\n")
    program(tmp_path / "bin", "ccache")
    (tmp_path / "bin" / "gcc").symlink_to(real)
    (tmp_path / "masks").mkdir()
    (tmp_path / "masks" / "gcc").symlink_to(tmp_path / "bin" / "ccache")
    environ = {"PATH": f"{tmp_path}/masks:{tmp_path}/bin"}
    assert find(environ={**environ, "CC": "ccache gcc"}).path == str(real)
    assert find(environ=environ).path == str(real)


@posix
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gcc", "gcc"),
        ("x86_64-linux-gnu-gcc-12", "gcc"),
        ("clang-17", "clang"),
        ("icx", "clang"),
        ("python-zig", "zig"),
    ],
)
def test_the_kind_is_judged_by_name(tmp_path, name, kind):
    program(tmp_path, name)
    assert find(environ={"PATH": str(tmp_path), "CC": name}).kind == (kind if name != "gcc" else _plain_gcc())


def _plain_gcc() -> str:
    return "clang" if sys.platform == "darwin" else "gcc"


def test_a_cc_that_is_no_program_is_an_error_that_names_it():
    with pytest.raises(ToolchainError, match="CC='no-such-cc -O2'") as caught:
        find(environ={"PATH": os.environ["PATH"], "CC": "no-such-cc -O2"})
    assert "unset" in caught.value.remedy


def test_without_any_compiler_the_one_command_that_helps_is_named(tmp_path, monkeypatch):
    without_ziglang(monkeypatch)
    with pytest.raises(ToolchainError, match="gcc, clang, cc") as caught:
        find(environ={"PATH": str(tmp_path)})
    assert caught.value.remedy == 'pip install "ufunc_magic[zig]"'


def test_ziglang_is_found_without_configuration_and_without_importing_it(tmp_path, monkeypatch):
    package = tmp_path / "ziglang"
    program(package, "zig")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ziglang", raising=False)
    found = find(cplus=True, environ={"PATH": str(tmp_path / "none")})
    assert (found.kind, found.origin, found.command) == ("zig", "ziglang package", (str(package / "zig"), "c++"))


@posix
@pytest.mark.parametrize("change", ["content", "time", "arguments", "another", "C++"])
def test_identity_differs_on(tmp_path, change):
    path = program(tmp_path, "gcc")
    os.utime(path, (1, 1))
    environ = {"PATH": str(tmp_path), "CC": "gcc"}
    before = find(environ=environ).read_identity()
    if change == "content":
        path.write_text("#!/bin/sh\n# new\n")
        os.utime(path, (1, 1))
    elif change == "time":
        os.utime(path, (2, 2))
    elif change == "arguments":
        environ["CC"] = "gcc -m64"
    elif change == "another":
        program(tmp_path, "gcc-9")
        environ["CC"] = "gcc-9"
    else:
        environ["CXX"] = "gcc"
    assert find(environ=environ, cplus=change == "C++").read_identity() != before


@posix
def test_identity_is_the_same_for_the_same_compiler(tmp_path):
    program(tmp_path, "gcc")
    environ = {"PATH": str(tmp_path)}
    assert find(environ=environ).read_identity() == find(environ=environ).read_identity()


# ------------------------------------------------------------------------------------------ flags


def made(kind: str = "gcc", *, cplus: bool = False) -> Toolchain:
    return Toolchain(kind, (kind,), cplus, f"/{kind}", 1, 1, "PATH")  # type: ignore[arg-type]


def test_environment_flags_are_honoured_but_not_packagers_optimisation_levels():
    environ = {"CFLAGS": "-O2 -march=nocona", "CPPFLAGS": "-DX='a b'", "CXXFLAGS": "-DCPLUS", "LDFLAGS": "-L/x"}
    flags = list_base_flags(made(), environ=environ)
    assert flags[-2:] == ("-DX=a b", "-march=nocona")
    assert "-DCPLUS" in list_base_flags(made(cplus=True), environ=environ)
    assert "-L/x" in list_base_link_options(made(), environ=environ)


@pytest.mark.parametrize("level", ["-O0", "-Og"])
def test_levels_for_debugging_are_taken(level):
    assert list_base_flags(made(), environ={"CFLAGS": level})[-1] == level


def test_a_command_of_the_ziglang_package_is_zig():
    found = find(environ={"CC": f"{sys.executable} -m ziglang cc", "PATH": os.environ["PATH"]})
    assert (found.kind, found.command[1:]) == ("zig", ("-m", "ziglang", "cc"))


def test_zig_compiles_for_any_processor_and_traps_nothing():
    flags = list_base_flags(made("zig"), environ={})
    assert {"-mcpu=baseline", "-fno-sanitize=undefined"} <= set(flags)


def test_libraries_are_found_again_when_opened(tmp_path):
    flags = compilers.list_library_flags(["gsl"], [str(tmp_path)])
    assert flags == (f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-lgsl")


# ---------------------------------------------------------------------------------------- describe


def test_a_description_survives_being_remembered(monkeypatch):
    described = compilers.describe(find())
    replace_name(monkeypatch, description, "examine", lambda toolchain: pytest.fail("the compiler was asked again"))
    assert compilers.describe(find()) == described


def test_an_older_c_library_offers_only_its_own_vector_functions():
    def offered(minor: int) -> frozenset[str]:
        macros = f"#define __x86_64__ 1\n#define __GLIBC__ 2\n#define __GLIBC_MINOR__ {minor}\n"
        return read_description(macros, "", kind="gcc").libmvec

    assert offered(17) == frozenset()
    assert offered(28) <= {f"{n}{f}" for n in ("sin", "cos", "exp", "log", "pow") for f in ("", "f")}
    assert offered(28) <= offered(36)


def test_no_vector_functions_are_promised_elsewhere():
    macros = "#define __aarch64__ 1\n#define __GLIBC__ 2\n#define __GLIBC_MINOR__ 36\n"
    described = read_description(macros, "", kind="gcc")
    assert (described.machine, described.libmvec) == ("aarch64", frozenset())


def test_on_arm_the_library_and_the_c_library_that_is_compiled_against_say_what_there_is(tmp_path, monkeypatch):
    library = tmp_path / "libmvec.so.1"
    names = "_ZGVnN2v_exp _ZGVnN2v_expf _ZGVnN4v_expf _ZGVnN4v_sinf _ZGVnN2vv_pow _ZGVsMxv_log _ZGVnN2v_cospi".split()
    library.write_bytes(b"\0".join([b"", *(name.encode() for name in names), b""]))
    replace_name(monkeypatch, description, "find_libmvec", lambda: str(library))

    def offered(minor: int, machine: str = "__aarch64__") -> set[str]:
        macros = f"#define {machine} 1\n#define __GLIBC__ 2\n#define __GLIBC_MINOR__ {minor}\n"
        return set(read_description(macros, "", kind="gcc").libmvec)

    # Of sinf, the variant for two floats is missing, which gcc may call.
    assert [offered(minor) for minor in (37, 38, 39, 40)] == [set(), {"exp"}, {"exp", "expf"}, {"exp", "expf", "pow"}]
    assert offered(41, "__x86_64__") == set()


@pytest.mark.parametrize(
    ("version", "functions", "knows"),
    [("clang 20.1.0", {"exp", "pow"}, False), ("clang 21.1.0", {"exp"}, False), ("zig (clang 22.1.8)", {"pow"}, True)],
)
def test_clang_on_arm_is_told_of_libmvec_where_it_has_all_that_clang_calls(version, functions, knows):
    assert Description(version, "aarch64", libmvec=frozenset(functions)).knows_libmvec is knows


@needs_gcc
def test_gcc_describes_itself_as_it_does_on_its_command_line():
    gcc = find(environ={"PATH": os.environ["PATH"], "CC": "gcc"})
    described = describe(gcc)
    version = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    machine = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=True).stdout
    assert described.version == f"gcc {version}"
    assert described.machine == machine.partition("-")[0]


@needs_gcc
def test_promised_vector_functions_link_in_every_width(tmp_path):
    gcc = find(environ={"PATH": os.environ["PATH"], "CC": "gcc"})
    described = describe(gcc)
    names = sorted(described.libmvec)
    if not names:
        pytest.skip("no libmvec here")
    assert {"exp", "log", "sin", "cos"} <= set(names)  # all that arm64 has in glibc 2.38
    assert "sincos" not in names
    two = {"pow", "powf", "atan2", "atan2f", "hypot", "hypotf"}
    # Of AArch64's, gcc calls those for two floats, too.
    widths = [("n", 16), ("n", 8)] if described.machine == "aarch64" else [("b", 16), ("c", 32), ("d", 32), ("e", 64)]
    lines = []
    for name in names:
        size = 4 if name.endswith("f") and name != "erf" else 8
        for isa, width in widths:
            if width > size:
                lines.append(f"void _ZGV{isa}N{width // size}v{'v' * (name in two)}_{name}(void);")
    calls = " ".join(re.sub(r"void (\w+)\(void\);", r"\1();", line) for line in lines)
    source = "\n".join(lines) + f"\n{PUBLIC}void f(void) {{ {calls} }}\n"
    link = [*list_base_link_options(gcc, environ={}), "-l:libmvec.so.1"]
    compile_shared(gcc, source, UnitOrigin(NAME, ""), output=tmp_path / "a.so", flags=list_base_flags(gcc), link=link)


@needs_gcc
def test_a_compiler_is_asked_once_until_it_changes(monkeypatch):
    gcc = find(environ={"PATH": os.environ["PATH"], "CC": "gcc"})
    first = describe(gcc)
    commands = []
    monkeypatch.setattr(description, "examine", lambda compiler: commands.append(compiler) or first)
    assert describe(gcc) == first
    assert commands == []
    changed = replace(gcc, mtime_ns=1)
    assert describe(changed) == first
    assert commands == [changed]


@posix
def test_a_compiler_that_does_not_work_is_an_error_with_its_last_words(tmp_path):
    bad = program(tmp_path, "gcc", "#!/bin/sh\necho 'licence expired' >&2\nexit 1\n")
    with pytest.raises(ToolchainError, match="licence expired"):
        describe(find(environ={"CC": str(bad), "PATH": ""}))


# ---------------------------------------------------------------------------------------- compile


def every_compiler() -> list[object]:
    # zig builds libc++ for its first C++ unit, which takes a minute: its C compiler stands for both.
    found = [*compilers.find_all(), *(t for t in compilers.find_all(cplus=True) if t.kind != "zig")]
    return [pytest.param(t, id=f"{'c++' if t.cplus else 'c'}-{t.kind}", marks=_slow(t)) for t in found]


def _slow(compiler: Toolchain) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if compiler.kind == "zig" else []


@pytest.fixture(scope="session")
def zig_storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zig")


@pytest.fixture(params=every_compiler())
def compiler(request: pytest.FixtureRequest, zig_storage: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(zig_storage))
    return request.param


@pytest.fixture
def build(compiler: Toolchain, tmp_path: Path):
    """Compile a cell with each compiler there is; the warnings and the opened library."""

    def run(cell: str, *, flags=(), link=(), extra=(), head=""):
        (tmp_path / "work").mkdir(exist_ok=True)
        output = tmp_path / "work" / "a.so"
        source = f'{head}\n#line 1 "{NAME}"\n{cell}\n'.replace("PUBLIC ", CPLUS_PUBLIC if compiler.cplus else PUBLIC)
        warned = compile_shared(
            compiler,
            source,
            UnitOrigin(NAME, cell),
            output=output,
            flags=[*list_base_flags(compiler, environ={}), *flags],
            link=[*link, *list_base_link_options(compiler, environ={})],
            extra_sources=extra,
        )
        return warned, ctypes.CDLL(str(output))

    return run


def call(library: ctypes.CDLL, x: float) -> float:
    library.f.restype = ctypes.c_double
    library.f.argtypes = [ctypes.c_double]
    return library.f(x)


def test_a_cell_becomes_a_library(build):
    warned, library = build("#include <math.h>\nPUBLIC double f(double x) { return sqrt(x); }")
    assert (warned, call(library, 9.0)) == ((), 3.0)


def test_warnings_come_back_on_the_cells_line(build):
    ((warning, *_), _) = build("PUBLIC double f(double x)\n{ int unused; return x; }", head="static int ours;")
    assert (warning.severity, warning.file, warning.line, warning.option) == ("warning", NAME, 2, "-Wunused-variable")
    assert warning.text == "{ int unused; return x; }"


def test_an_error_is_on_the_cells_line_and_column(build):
    with pytest.raises(CompileError) as caught:
        build("PUBLIC double f(double x)\n{\n    return x + undeclared_thing;\n}", head="\n\n")
    (error,) = (d for d in caught.value.diagnostics if d.severity == "error")
    assert (error.file, error.line, error.column) == (NAME, 3, 16)
    assert "undeclared_thing" in caught.value.output


def test_a_function_nobody_declared_is_an_error_with_its_header(build):
    with pytest.raises(CompileError, match=r"#include <math\.h>"):
        build("PUBLIC double f(double x) { return sin(x); }")


def test_a_missing_symbol_is_a_link_error_with_its_library(build):
    cell = "PUBLIC double gsl_sf_bessel_J0(double);\nPUBLIC double f(double x) { return gsl_sf_bessel_J0(x); }"
    with pytest.raises(LinkError, match="-l gsl -l gslcblas"):
        build(cell)


def test_a_missing_library_is_a_link_error(build):
    with pytest.raises(LinkError, match="library 'nowhere' not found"):
        build("PUBLIC double f(double x) { return x; }", link=["-lnowhere"])


def test_what_is_not_exported_stays_inside(build):
    _, library = build("double hidden(double x) { return x; }\nPUBLIC double f(double x) { return hidden(x); }")
    assert not hasattr(library, "hidden")


def test_extra_sources_in_c_and_in_cplusplus_are_compiled_along(build, compiler, tmp_path):
    if compiler.kind == "zig":
        pytest.skip("zig would build libc++ first, which takes a minute")
    (tmp_path / "one.c").write_text("double one(double x) { return x + 1; }\n")
    (tmp_path / "two.cpp").write_text(
        '#include <vector>\nextern "C" double two(double x) { return std::vector<double>{x, 2 * x}[1]; }\n'
    )
    cell = "double two(double);\nPUBLIC double f(double x) { return two(x); }"
    linked = 'extern "C" double two(double);' + cell.partition("\n")[2]
    _, library = build(linked if compiler.cplus else cell, extra=[tmp_path / "one.c", tmp_path / "two.cpp"])
    assert call(library, 2.0) == 4.0


FLUSHES = """
import ctypes, sys, numpy as np
library = ctypes.CDLL(sys.argv[1])
sys.exit(int(np.float64(5e-324) * np.float64(1.0) == 0.0))
"""


def test_fast_math_is_compiled_but_never_linked(build, tmp_path):
    cell = "PUBLIC double f(double x) { return x != x; }\n#ifndef __FAST_MATH__\n#error not fast\n#endif"
    _, library = build(cell, flags=["-ffast-math"])
    assert call(library, 1.0) == 0.0
    assert subprocess.run([sys.executable, "-c", FLUSHES, library._name], check=False).returncode == 0


def test_preprocessing_keeps_line_markers_and_skips_compiling(compiler):
    source = f'#define F(n) double n(double x) {{ return x; }}\n#line 7 "{NAME}"\nF(g)\n'
    text = preprocess(compiler, source, name=NAME, flags=list_base_flags(compiler, environ={}))
    assert "double g(double x) { return x; }" in text
    assert re.search(r'^# (?:line )?7 "In\[3\]"', text, re.M)


def test_preprocessing_errors_are_compile_errors(compiler):
    with pytest.raises(CompileError, match="-I FOLDER"):
        preprocess(compiler, f'#line 1 "{NAME}"\n#include <nowhere/x.h>\n', name=NAME)


def test_every_compiler_describes_itself(compiler):
    described = examine(compiler)
    assert re.match(r"(gcc|clang|Apple clang|zig) ", described.version)
    assert described.machine != "unknown"


# ------------------------------------------------------------------------- processes come to an end


#: Seconds that no other run of these tests sleeps.
NAP = f"300.{os.getpid()}"
SLEEPER = f"#!/bin/sh\nsleep {NAP} &\nsleep {NAP}\n"


def count_sleeping() -> int:
    return sum(p.info["cmdline"] == ["sleep", NAP] for p in psutil.process_iter(["cmdline"]))


def interrupt_when_asleep() -> threading.Thread:
    """Send SIGINT to this thread once a compiler of these tests sleeps."""
    asked = threading.get_ident()

    def interrupt() -> None:
        wait_until(count_sleeping)
        signal.pthread_kill(asked, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    return thread


def leftovers() -> tuple[int, set[int]]:
    """Sleeping programs, and our children: multiprocessing of another test keeps one for the session."""
    return count_sleeping(), {child.pid for child in psutil.Process().children()}


@posix
def test_a_compiler_that_hangs_is_ended_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "PATIENCE", 0.3)
    hanging = find(environ={"CC": str(program(tmp_path, "gcc", SLEEPER)), "PATH": os.environ["PATH"]})
    before = leftovers()
    with pytest.raises(ToolchainError, match=r"0\.3 seconds"):
        compile_shared(hanging, "", UnitOrigin(NAME, ""), output=tmp_path / "a.so", flags=())
    assert wait_until(lambda: leftovers() == before)


@posix
def test_an_interrupt_ends_the_compiler_with_all_it_started(tmp_path):
    hanging = find(environ={"CC": str(program(tmp_path, "gcc", SLEEPER)), "PATH": os.environ["PATH"]})
    before = leftovers()
    interrupting = interrupt_when_asleep()
    with pytest.raises(KeyboardInterrupt):
        compile_shared(hanging, "", UnitOrigin(NAME, ""), output=tmp_path / "a.so", flags=())
    interrupting.join()
    assert wait_until(lambda: leftovers() == before)


@posix
def test_an_interrupt_ends_the_compilers_of_all_parts(tmp_path):
    hanging = find(environ={"CC": str(program(tmp_path, "gcc", SLEEPER)), "PATH": os.environ["PATH"]})
    before = leftovers()
    interrupting = interrupt_when_asleep()
    compile_part = functools.partial(compile_object, hanging, "", UnitOrigin(NAME, ""), flags=())
    jobs = [functools.partial(compile_part, output=tmp_path / f"{n}.o") for n in range(9)]
    with pytest.raises(KeyboardInterrupt):
        run_jobs(tmp_path, jobs, lambda place: None)
    interrupting.join()
    assert wait_until(lambda: leftovers() == before)


@posix
def test_what_zig_builds_once_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(tmp_path))
    zig = str(program(tmp_path, "zig", f"#!/bin/sh\nuntil [ -e {tmp_path}/o ]; do sleep 0.01; done\n"))
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(processes.run_command, [zig, "c++", "-shared"], "")
        while not (words := processes.describe_progress()):
            assert not done.done()
        (tmp_path / "o" / "one").mkdir(parents=True)
    assert words == "zig builds its C++ library, once"


@posix
def test_the_first_part_that_fails_ends_the_others(tmp_path):
    knows_no_steps, waits = "[ $1 != -### ] || exit 1", f"read word\n[ $word = wrong ] || exec sleep {NAP}"
    script = f"#!/bin/sh\n{knows_no_steps}\n{waits}\necho '<stdin>:1:1: error: wrong' >&2\nexit 1\n"
    tool = find(environ={"CC": str(program(tmp_path, "gcc", script)), "PATH": os.environ["PATH"]})
    before = leftovers()
    compile_part = functools.partial(
        compile_object, tool, origin=UnitOrigin(NAME, ""), output=tmp_path / "a.o", flags=()
    )
    jobs = [functools.partial(compile_part, text) for text in ("wrong\n", *["right\n"] * 9)]
    with pytest.raises(CompileError, match="wrong"):
        run_jobs(tmp_path, jobs, lambda place: None)
    assert leftovers() == before


@posix
def test_a_compiler_that_dies_is_an_error_with_its_last_words(tmp_path):
    dying = program(tmp_path, "gcc", "#!/bin/sh\necho 'virtual memory exhausted' >&2\nkill -9 $$\n")
    with pytest.raises(CompileError, match=r"(?s)signal 9.*virtual memory exhausted"):
        compile_shared(
            find(environ={"CC": str(dying), "PATH": ""}), "", UnitOrigin(NAME, ""), output=tmp_path / "a.so", flags=()
        )


@posix
def test_a_program_that_cannot_be_started_is_an_error(tmp_path):
    text = program(tmp_path, "gcc", "#!/no/such/shell\n")
    with pytest.raises(ToolchainError, match="cannot be started"):
        describe(find(environ={"CC": str(text), "PATH": ""}))


@posix
@pytest.mark.parametrize(("number", "remedy"), [(errno.EMFILE, "ulimit -n"), (errno.EAGAIN, "ulimit -u")])
def test_a_limit_is_not_the_compilers_fault(tmp_path, monkeypatch, number, remedy):
    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    text = program(tmp_path, "gcc", "#!/bin/sh\n")
    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(ToolchainError, match=remedy):
        describe(find(environ={"CC": str(text), "PATH": ""}))


@needs_gcc
def test_temporary_files_stay_in_the_folder_of_the_output(tmp_path):
    listing = tmp_path / "tmpdir"
    spy = program(tmp_path, "gcc-1", f'#!/bin/sh\necho "$TMPDIR" > {listing}\nexec gcc "$@"\n')
    gcc = find(environ={"CC": str(spy), "PATH": os.environ["PATH"]})
    (tmp_path / "work").mkdir()
    compile_shared(
        gcc, "int x;", UnitOrigin(NAME, "int x;"), output=tmp_path / "work" / "a.so", flags=list_base_flags(gcc)
    )
    assert listing.read_text().strip() == str(tmp_path / "work")
    assert "a.so" in os.listdir(tmp_path / "work")  # with the steps' own files, which go with the folder


def test_names_that_gcc_writes_as_code_points_are_letters_after_the_preprocessor() -> None:
    text = preprocess(find(), "double größe(double x) { return x; }", name="In[3]")
    assert "double größe(double x)" in text
