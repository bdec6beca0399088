"""The magics: an option line and a cell in, names in the notebook and a report out."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class
from IPython.display import display

from ..model import LANGUAGES, OptionError, Options, make_options, refuse, suited
from . import completion, option_line
from .bound_names import Names
from .captured_output import Capture

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell

    from ..pipeline import Language
    from ..render import Comparison, Notebook, Report, Terminal
    from ..store import Cache
    from ..toolchain import Diagnosis

#: Options that make sense for one cell only; ``%ufunc_config`` refuses to remember them.
_ONE_CELL = ("name", "signature", "force", "ref", "src", "pgo", "annotate_fullc", "show")
_DB_KEY = "ufunc_magic/options"

_C_UFUNC_DOC = f"""Compile a cell of C and bind its functions as NumPy ufuncs.

Every function of the cell that is not static becomes a ufunc of the same name.  Scalar parameters
are inputs; the return value and pointers to non-const scalars are outputs.  The cell's value is a
report: each function checked against the same code in Python, then timed.

Options
-------
{option_line.explain(language="c")}

Examples
--------
One function, called on arrays afterwards::

    %%c_ufunc
    #include <math.h>
    double logit(double p) {{ return log(p / (1 - p)); }}

Two outputs, on all cores, nothing shown::

    %%c_ufunc --parallel -q
    #include <math.h>
    void polar(double x, double y, double *r, double *phi) {{
        *r = hypot(x, y);
        *phi = atan2(y, x);
    }}

A generalized ufunc, for float32 and float64::

    %%c_ufunc --types f4,f8
    // ufunc: (n),(n)->() identity=0 name=dot
    T dot(const T *a, const T *b, int n) {{
        T s = 0;
        for (int i = 0; i < n; i++) s += a[i] * b[i];
        return s;
    }}
"""

_CYTHON_UFUNC_DOC = f"""Compile a cell of Cython and bind its functions, as NumPy ufuncs where they are of numbers.

Every cdef, cpdef and def function at the left margin whose parameters and result are C numbers becomes
a ufunc of its name.  A typed memoryview makes a generalized ufunc of its function, with a comment that
says the layout: # ufunc: (n),(n)->().  Everything else (functions of objects, classes, constants) is
bound as %%cython does.  Names that start with an underscore stay in the cell.  An exception that a
function raises for one element reaches the caller of the ufunc.

Options
-------
{option_line.explain(language="cython")}

Examples
--------
Three kinds of functions, three ufuncs::

    %%cython_ufunc
    from libc.math cimport exp, sqrt
    cdef double relu(double x) noexcept nogil:
        return x if x > 0 else 0
    cpdef double root(double x) except? -1:
        if x < 0: raise ValueError(x)
        return sqrt(x)
    def gauss(double x, double s):
        return exp(-x*x / (2*s*s))

Arrays::

    %%cython_ufunc
    # ufunc: (n),(n)->()
    cdef double dot(double[:] a, double[:] b):
        cdef double s = 0
        for i in range(a.shape[0]):
            s += a[i] * b[i]
        return s

C++, with the compiler's options::

    %%cython_ufunc -+ -c=-DNDEBUG
    from libcpp.vector cimport vector
    def primes(int n): ...
"""

_CUDA_DEVICE_DOC = f"""Compile a cell of CUDA C++ and bind its device functions and kernels.

A __device__ function of numbers can be called in kernels of numba.cuda, and from Python on arrays, element by
element: CuPy arrays and whatever else lives on the GPU give arrays of their kind, NumPy arrays give NumPy arrays.
Where there is no GPU the same source is compiled for the CPU, and the report says so: "CPU emulation".
A __global__ kernel is launched as k[grid, block](arguments).

Options
-------
{option_line.explain(language="cuda")}

Examples
--------
A function for arrays and for kernels::

    %%cuda_device
    __device__ float mul(float x, float y) {{ return x * y; }}

In Numba's form, the result through the first pointer::

    %%cuda_device
    extern "C" __device__ int mul_f32_f32(float *return_value, float x, float y) {{
        *return_value = x * y;
        return 0;
    }}

A kernel::

    %%cuda_device
    __global__ void axpy(int n, float a, const float *x, float *y) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] += a * x[i];
    }}
"""

_CONFIG_DOC = f"""Show or set the options that every %%c_ufunc, %%cython_ufunc and %%cuda_device starts from.

They are kept in IPython's database, so they outlive the session.  An option on a cell's own line
wins.

::

    %ufunc_config                         show what is remembered
    %ufunc_config --no-time --parallel=2  remember these too
    %ufunc_config --reset                 forget everything; may stand before other options

Not remembered, because they belong to one cell: {", ".join("--" + name.replace("_", "-") for name in _ONE_CELL)}.

Options
-------
{option_line.explain()}
"""


@dataclass(frozen=True)
class Remembered:
    """The options of ``%ufunc_config``; shown the way they would be typed."""

    options: Options

    def changed(self) -> dict[str, Any]:
        """Field -> value, for what differs from the defaults."""
        default = Options()
        pairs = ((f.name, getattr(self.options, f.name)) for f in fields(Options))
        return {name: value for name, value in pairs if value != getattr(default, name)}

    def __repr__(self) -> str:
        words = option_line.spelled(self.changed())
        return f"remembered options: {' '.join(words)}" if words else "no remembered options"


@magics_class
class UfuncMagics(Magics):  # type: ignore[misc,unused-ignore]
    """State of the extension in one shell: what it bound, what it remembers, the output it forwards."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.names = Names(shell)
        self.capture = Capture(shell)
        self._remembered: Remembered | None = None
        self._cell_id: str | None = None

    def before_cell(self, info: ExecutionInfo) -> None:
        """Note which cell of the notebook is running, where the front end says so."""
        self._cell_id = getattr(info, "cell_id", None)

    @line_cell_magic
    def c_ufunc(self, line: str, cell: str | None = None) -> Report | None:
        return self._cell(line, cell, language="c")

    c_ufunc.__doc__ = _C_UFUNC_DOC

    @line_cell_magic
    def cython_ufunc(self, line: str, cell: str | None = None) -> Report | None:
        return self._cell(line, cell, language="cython")

    cython_ufunc.__doc__ = _CYTHON_UFUNC_DOC

    @line_cell_magic
    def cuda_device(self, line: str, cell: str | None = None) -> Report | None:
        return self._cell(line, cell, language="cuda")

    cuda_device.__doc__ = _CUDA_DEVICE_DOC

    def _cell(self, line: str, cell: str | None, *, language: Language) -> Report | None:
        if cell is None:
            called, magic = LANGUAGES[language]
            if line.strip() and not set(line.split()) & set(option_line.HELP_FLAGS):
                remedy = f"Write {magic} on the first line and {called} below it."
                raise UsageError(f"{magic[1:]} compiles nothing.\n{remedy}")
            self._shown(magic)
            return None
        # Whatever goes wrong from here on, this cell's earlier functions must not stay behind.
        self.names.forget(cell, cell_id=self._cell_id)
        options = self._options(line, language)
        if options is None:
            return None
        from .. import pipeline

        assert self.shell is not None
        # Not execution_count: IPython 9 counts it up before the cell runs, IPython 8 after.
        name = options.name or f"In[{self.shell.displayhook.prompt_count}]"
        self.capture.begin()
        built = pipeline.build(cell, language=language, options=options, name=name)
        if built.printed and options.time:
            sys.stdout.write(built.printed)
        hidden = self.names.hidden(built)
        report: Report | None = None
        if options.time or hidden or built.diagnostics or built.notes or options.annotate or options.show:
            report = pipeline.report(built, options=options, namespace=self.shell.user_ns, surface=self._surface())
            report = replace(report, notes=(*report.notes, *hidden))
        # Last, so that a cell whose report fails binds nothing either.
        self.names.bind(built, cell_id=self._cell_id)
        return report

    def _options(self, line: str, language: Language) -> Options | None:
        """The line over what is remembered; None when help was asked for and shown."""
        try:
            values = option_line.parse(line, language=language)
            if values.pop("help", False):
                self._shown(LANGUAGES[language][1])
                return None
            options = make_options(values, base=suited(self.remembered().options, language=language))
            refuse(options, language=language)
            return options
        except OptionError as error:
            raise UsageError(str(error)) from None

    def _shown(self, magic: str) -> None:
        """The magic's own text, where the front end has it."""
        assert self.shell is not None
        self.shell.run_line_magic("pinfo", magic)

    def _surface(self) -> Notebook | Terminal:
        """Where a line that says how far it is can be shown."""
        from ..render import Notebook, Terminal

        if getattr(self.shell, "kernel", None) is not None:
            return Notebook(display)

        def write(text: str) -> None:
            sys.stdout.write(text)
            sys.stdout.flush()

        return Terminal(write)

    @line_magic
    def ufunc_compare(self, line: str) -> Comparison | None:
        """Verify that functions agree on the same arguments, then time them in turns.

        ::

            %ufunc_compare f np.exp "lambda x: np.exp(x)"
            %ufunc_compare f g --sizes 10:1e7 --ref g -- x y
        """
        from ..model import ComparisonError
        from .compare_line import compared

        assert self.shell is not None
        try:
            comparison = compared(line, names=self.shell.user_ns, surface=self._surface())
        except (OptionError, ComparisonError) as error:
            raise UsageError(str(error)) from None
        if isinstance(comparison, str):
            sys.stdout.write(f"{comparison}\n")
            return None
        return comparison

    @line_magic
    def ufunc_config(self, line: str) -> Remembered | None:
        words = line.split()
        reset = "--reset" in words
        rest = " ".join(word for word in words if word != "--reset") if reset else line
        try:
            values = option_line.parse(rest)
            refused = [name for name in _ONE_CELL if name in values]
            if refused:
                raise OptionError(f"--{refused[0]} belongs to one cell.", remedy="Write it on the cell's own line.")
            if values.pop("help", False):
                self._shown("%ufunc_config")
                return None
            base = Options() if reset else self.remembered().options
            self._remembered = Remembered(make_options(values, base=base))
        except OptionError as error:
            raise UsageError(str(error)) from None
        if values or reset:
            _store(self.shell, self._remembered.changed())
        return self._remembered

    ufunc_config.__doc__ = _CONFIG_DOC

    def remembered(self) -> Remembered:
        """What ``%ufunc_config`` set, in this session or an earlier one."""
        if self._remembered is None:
            try:
                self._remembered = Remembered(make_options(_stored(self.shell)))
            except OptionError:
                # Written by a version with other options.
                self._remembered = Remembered(Options())
        return self._remembered

    @line_magic
    def ufunc_cache(self, line: str) -> Cache | None:
        """Show the cache of compiled code; ``--clear`` empties it, ``--prune SIZE`` shrinks it.

        ::

            %ufunc_cache
            %ufunc_cache --prune 500M
            %ufunc_cache --clear
        """
        from ..store import default, read_size

        cache = default()
        match line.replace("=", " ").split():
            case []:
                pass
            case ["--clear"]:
                cache.clear()
            case ["--prune", size]:
                cache.prune(read_size(size, name="--prune"))
            case words if set(words) & set(option_line.HELP_FLAGS):
                self._shown("%ufunc_cache")
                return None
            case _:
                raise UsageError(f"%ufunc_cache {line!r} is not understood.\nWrite --clear, or --prune SIZE.")
        return cache

    @line_magic
    def ufunc_doctor(self, line: str) -> Diagnosis | None:
        """Show compilers, CPU, OpenMP, SIMD math, caches and packages as this extension sees them."""
        from ..toolchain import diagnose

        if set(line.split()) & set(option_line.HELP_FLAGS):
            self._shown("%ufunc_doctor")
            return None
        if line.strip():
            raise UsageError(f"%ufunc_doctor takes no arguments, but {line.strip()!r} was given.")
        return diagnose()


def _stored(shell: Any) -> dict[str, Any]:
    """Options in the shell's database; ``{}`` where there is none or it cannot be read."""
    try:
        values = json.loads(shell.db[_DB_KEY])
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _store(shell: Any, values: dict[str, Any]) -> None:
    try:
        shell.db[_DB_KEY] = json.dumps(values)
    except (AttributeError, OSError, TypeError):
        # No database, or one that cannot be written: the options last as long as the session.
        return


def load(shell: InteractiveShell) -> None:
    """Register the magics in ``shell``; a second call changes nothing."""
    if _registered(shell) is not None:
        return
    magics = UfuncMagics(shell)
    shell.register_magics(magics)
    shell.events.register("pre_run_cell", magics.before_cell)
    completion.install(shell)


def unload(shell: InteractiveShell) -> None:
    """Take the magics out of ``shell``; the functions that were bound stay."""
    magics = _registered(shell)
    if magics is None:
        return
    shell.events.unregister("pre_run_cell", magics.before_cell)
    magics.capture.end()
    completion.remove(shell)
    del shell.magics_manager.registry[UfuncMagics.__name__]
    for kind, names in magics.magics.items():
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)


def _registered(shell: InteractiveShell) -> UfuncMagics | None:
    magics: UfuncMagics | None = shell.magics_manager.registry.get(UfuncMagics.__name__)
    return magics
