"""The magics: they take an option line and a cell, bind names in the notebook and show a report."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class
from IPython.display import display

from ..model import (
    LANGUAGES,
    TABLE,
    CellPlace,
    OptionError,
    Options,
    ParseError,
    SaveError,
    UfuncMagicError,
    make_options,
    refuse,
    suit_options,
)
from . import completion, first_use, option_line
from .bound_names import Names
from .captured_output import Capture
from .editor_marks import EditorMarks
from .waiting import Waiting

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

    from ..compilers import Diagnosis
    from ..interop.python_package import SavedModule
    from ..render import Comparison, Progress, Report
    from ..runtime import Build
    from ..store import Cache

#: Options that make sense for one cell only; ``%ufunc_config`` refuses to remember them.
_ONE_CELL = ("name", "signature", "force", "data", "ref", "src", "pgo", "annotate_fullc", "show")
_DB_KEY = "ufunc_magic/options"

Magic = TypeVar("Magic", bound=Callable[..., Any])


def _insert_options(table: option_line.Table) -> Callable[[Magic], Magic]:
    """Replace ``{options}`` in the magic's docstring by the list of options."""

    def insert(magic: Magic) -> Magic:
        magic.__doc__ = inspect.cleandoc(magic.__doc__ or "").replace("{options}", option_line.explain(table))
        return magic

    return insert


@dataclass(frozen=True)
class Remembered:
    """The options of ``%ufunc_config``, shown as you would type them."""

    options: Options

    def list_changes(self) -> dict[str, Any]:
        """Field -> value, for what differs from the defaults."""
        default = vars(Options())
        return {name: value for name, value in vars(self.options).items() if value != default[name]}

    def __repr__(self) -> str:
        words = option_line.spell(self.list_changes())
        return f"default options: {' '.join(words)}" if words else "no default options"


def find_first_line(source: str, running: str) -> int:
    """The number that the editor gives the first line of ``source`` in the ``running`` cell.

    It is 2 below a magic on the first line, and more below empty lines or other magics (``%%time``).  A source that
    is not the end of the cell, such as one that a function passes to ``run_cell_magic``, counts its own lines from 1.
    """
    # IPython removes the indentation.
    whole, part = ([line.strip() for line in text.rstrip().split("\n")] for text in (running, source))
    above = len(whole) - len(part)
    return above + 1 if above > 0 and whole[above:] == part else 1


def _cut_traceback(trace: TracebackType | None, name: str) -> TracebackType | None:
    """A traceback from the cell's first frame on; the whole traceback if the cell has no frame in it."""
    frames = trace
    while frames is not None and not _is_of_cell(frames.tb_frame, name):
        frames = frames.tb_next
    return frames or trace


def _is_of_cell(frame: FrameType, name: str) -> bool:
    """Whether a frame runs the cell's code; the file name has a suffix if another cell had the same name."""
    return f"{frame.f_code.co_filename} ".startswith(f"{name} ")


class _Stopped(KeyboardInterrupt):
    """An interrupt that IPython shows in one line."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self._line = line

    def _render_traceback_(self) -> list[str]:
        return [self._line]


# Front ends show an exception by the name of its class.
_Stopped.__name__ = KeyboardInterrupt.__name__


@contextlib.contextmanager
def _show_stop(name: str, outcome: str) -> Iterator[None]:
    """Show an interrupt in one line, unless the cell's own code was running: our frames are no help."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        trace = interrupt.__traceback__
        if any(_is_of_cell(frame, name) for frame, _ in traceback.walk_tb(trace)):
            raise
        line = f"KeyboardInterrupt: {name} was stopped; it {outcome}."
        raise _Stopped(line).with_traceback(trace) from None


def _make_no_progress() -> Progress:
    from ..pipeline import make_progress

    return make_progress(None)


@magics_class
class UfuncMagics(Magics):  # type: ignore[misc,unused-ignore]
    """State of the extension in one shell: what it bound, what it remembers, the output it forwards."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.names = Names(shell)
        self.capture = Capture(shell)
        self._remembered: Remembered | None = None
        self._cell_id: str | None = None
        #: The text of the notebook's cell that is running; ``""`` if none is.
        self._running = ""
        #: The last cell, which ``%ufunc_save`` saves, or why there is none.
        self._last: Build | str = "No cell has been compiled yet."
        #: Notices that this session has shown.
        self._announced: set[str] = set()
        #: The last report or comparison, and its progress line.
        self._waiting: tuple[Report | Comparison | None, Progress | None] = None, None

    def before_cell(self, info: ExecutionInfo) -> None:
        """Record which cell of the notebook is running, if the front end tells, and let Stop interrupt its C code."""
        self._cell_id = getattr(info, "cell_id", None)
        self._running = getattr(info, "raw_cell", None) or ""
        if "ufunc_magic.runtime.loader" in sys.modules:  # otherwise no C code is loaded
            from ..runtime import check_handlers

            try:
                check_handlers()
            except KeyboardInterrupt:
                self.capture.stop_cell()

    def after_cell(self, result: ExecutionResult) -> None:
        """No cell of the notebook is running any more."""
        self._running = ""

    @line_cell_magic
    @_insert_options(option_line.list_options("c"))
    def c_ufunc(self, line: str, cell: str | None = None) -> Report | None:
        """Compile C code and bind its functions as NumPy ufuncs.

        Each function in the cell that is not static becomes a ufunc with the same name.  Scalar parameters are inputs;
        the return value and pointers to non-const scalars are outputs.  The value of the cell is a report, which checks
        each function against the same code in Python and times both.

        Options
        -------
        {options}

        Examples
        --------
        A function, ready to be called on arrays::

            %%c_ufunc
            #include <math.h>
            double logit(double p) { return log(p / (1 - p)); }

        A function with two outputs, which runs on all cores, without a report::

            %%c_ufunc --parallel -q
            #include <math.h>
            void polar(double x, double y, double *r, double *phi) {
                *r = hypot(x, y);
                *phi = atan2(y, x);
            }

        A generalized ufunc, for float32 and float64::

            %%c_ufunc --types f4,f8
            // ufunc: (n),(n)->() identity=0 name=dot
            T dot(const T *a, const T *b, int n) {
                T s = 0;
                for (int i = 0; i < n; i++) s += a[i] * b[i];
                return s;
            }
        """
        return self._run_cell(line, cell, language="c")

    @line_cell_magic
    @_insert_options(option_line.list_options("cython"))
    def cython_ufunc(self, line: str, cell: str | None = None) -> Report | None:
        """Compile Cython code and bind its functions; functions of numbers work on arrays, too.

        Each cdef function at the left margin whose parameters and result are C numbers becomes a ufunc with the same
        name.  A cpdef or def function of numbers is Cython's own function for single numbers and a ufunc for arrays:
        the ufunc is f.ufunc.  A function with typed memoryviews becomes a generalized ufunc if a comment above it gives
        the layout: # ufunc: (n),(n)->().  Everything else (functions of objects, classes, constants) is bound as by
        %%cython.  Names that start with an underscore stay private to the cell.  If a function raises an exception for
        one element, the ufunc raises it.

        Options
        -------
        {options}

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
        __tracebackhide__ = True
        return self._run_cell(line, cell, language="cython")

    @line_cell_magic
    @_insert_options(option_line.list_options("cuda"))
    def cuda_device(self, line: str, cell: str | None = None) -> Report | None:
        """Compile CUDA C++ code and bind its device functions and kernels.

        You can call a __device__ function of numbers in numba.cuda kernels, and from Python on arrays, element by
        element.  The result is an array of the same kind as the arguments: on the GPU for CuPy and other GPU arrays, in
        NumPy for NumPy arrays. Without a GPU, the same source is compiled for the CPU, and the report says "CPU
        emulation". You launch a __global__ kernel as k[grid, block](arguments).

        Options
        -------
        {options}

        Examples
        --------
        A function for arrays and for kernels::

            %%cuda_device
            __device__ float mul(float x, float y) { return x * y; }

        In Numba's form, the result through the first pointer::

            %%cuda_device
            extern "C" __device__ int mul_f32_f32(float *return_value, float x, float y) {
                *return_value = x * y;
                return 0;
            }

        A kernel::

            %%cuda_device
            __global__ void axpy(int n, float a, const float *x, float *y) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i < n) y[i] += a * x[i];
            }
        """
        return self._run_cell(line, cell, language="cuda")

    def _run_cell(self, line: str, cell: str | None, *, language: str) -> Report | None:
        __tracebackhide__ = True
        if cell is None:
            self._explain(line, language)
            return None
        # Whatever goes wrong from here on, this cell's earlier functions must not stay.
        self.names.forget(cell, cell_id=self._cell_id)
        before, self._last = self._last, "The last cell failed, so there is nothing to save."
        assert self.shell is not None
        # Not execution_count: IPython 9 counts it up before the cell runs, IPython 8 after.
        name = f"In[{self.shell.displayhook.prompt_count}]"
        marks = EditorMarks(self.shell, self._running, name, visible=bool(self._cell_id))
        with marks.mark_failure():
            options = self._read_options(line, language)
        if options is None:
            self._last = before
            return None
        name = options.name or name
        marks = replace(marks, name=name)
        with first_use.prepare_next(self.shell), marks.mark_failure(), _show_stop(name, "bound nothing"):
            self.capture.begin()
            # Displayed output cannot be removed, so a quiet cell shows no progress.
            progress = self._make_progress() if options.time else _make_no_progress()
            built = self._build(cell, language=language, options=options, name=name, progress=progress)
            if built and built.printed and options.time:
                sys.stdout.write(built.printed)
            if options.run_main or built is None:
                self._run_main(cell, language=language, options=options, name=name, progress=progress)
            if built is None:
                return None
            report = self._report(built, options, progress, marks)
            # Last, so that a cell whose report fails binds nothing either.
            self.names.bind(built, cell_id=self._cell_id)
            self._last = built
            if first_use.is_in_notebook(self.shell) and not built.cached:
                first_use.work_ahead(language, cell, options)
            return report

    def _explain(self, line: str, language: str) -> None:
        """Show the help of a magic that was used as a line."""
        title, magic = LANGUAGES[language].title, LANGUAGES[language].magic
        if line.strip() and not set(line.split()) & set(option_line.HELP_FLAGS):
            remedy = f"Write {magic} on the first line and {title} below it."
            raise UsageError(f"{magic[1:]} without a cell compiles nothing.\n{remedy}")
        self._show_help(magic)

    def _build(self, cell: str, *, language: str, options: Options, name: str, progress: Progress) -> Build | None:
        """Compile a cell; None for one that has only a main(), which is to run."""
        from .. import compilers, pipeline

        first_line = find_first_line(cell, self._running)
        with Waiting(progress, f"compiling {name}", how_far=compilers.describe_progress) as waiting:
            try:
                return pipeline.build(
                    cell,
                    language=language,
                    options=options,
                    name=name,
                    first_line=first_line,
                    doing=lambda step: waiting.begin(f"{step} {name}"),
                    names=self.shell.user_ns if self.shell else {},
                )
            except UfuncMagicError as error:
                error.place = CellPlace(name, first_line)
                if not (options.run_main and isinstance(error, ParseError)):
                    raise
            except BaseException as error:
                error.__traceback__ = _cut_traceback(error.__traceback__, name)
                raise
        self._last = f"{name} bound nothing, so there is nothing to save."
        return None

    def _report(self, built: Build, options: Options, progress: Progress, marks: EditorMarks) -> Report | None:
        """The report of a cell; None if there is nothing to report."""
        from ..pipeline import report

        assert self.shell is not None
        hidden, withheld = self.names.describe_hidden(built, options), self.names.list_withheld(built)
        plain = any(function.kind == "plain" for function in built.report_data.functions)  # the report says why
        shown = options.time or options.annotate or options.show
        if not (shown or hidden or built.diagnostics or built.notes or plain):
            return None
        result = report(
            built,
            options=options,
            namespace=self.shell.user_ns,
            line=progress,
            without=withheld,
            announced=self._announced,
        )
        result = replace(result, notes=(*result.notes, *hidden))
        self._waiting = result, progress
        marks.show(built.diagnostics)
        return result

    def _run_main(self, cell: str, *, language: str, options: Options, name: str, progress: Progress) -> None:
        """Run the cell's main(); its functions are bound however it ends, except by Stop."""
        from .. import compilers
        from ..model import CellCrashed
        from ..pipeline import run_main

        def show(text: str) -> None:
            sys.stdout.write(text)
            sys.stdout.flush()

        try:
            with Waiting(progress, f"compiling main() of {name}", how_far=compilers.describe_progress) as waiting:
                status = run_main(
                    cell,
                    language=language,
                    options=options,
                    name=name,
                    show=show,
                    doing=lambda step: waiting.begin(f"{step} {name}"),
                )
        except CellCrashed as fault:
            sys.stderr.write(f"{fault}\n")
        else:
            sys.stderr.write(f"main() returned {status}.\n" if status else "")

    def _read_options(self, line: str, language: str) -> Options | None:
        """The default options, overridden by the line; None after showing help, if the line asks for it."""
        values = self._parse(line, TABLE, LANGUAGES[language].magic)
        if values is None:
            return None
        try:
            options = make_options(values, base=suit_options(self.read_remembered().options, language=language))
            refuse(options, language=language)
            return options
        except OptionError as error:
            raise UsageError(str(error)) from None

    def _parse(
        self, line: str, table: option_line.Table, magic: str, *, others: list[str] | None = None
    ) -> dict[str, Any] | None:
        """The options on the line; None after showing help, if the line asks for it."""
        try:
            values = option_line.parse(line, table, others=others)
        except OptionError as error:
            raise UsageError(str(error)) from None
        if "help" in values:
            self._show_help(magic)
            return None
        return values

    def _show_help(self, magic: str) -> None:
        """Show the magic's own text where the front end shows help."""
        assert self.shell is not None
        self.shell.run_line_magic("pinfo", magic)

    def _make_progress(self) -> Progress:
        """A progress line in a notebook; a terminal would get line after line."""
        from ..pipeline import make_progress

        return make_progress(display if getattr(self.shell, "kernel", None) is not None else None)

    def show_in_place(self, value: Report | Comparison) -> None:
        """Replace a progress line by its result, so that no empty output is left in the notebook.

        Raises
        ------
        NotImplementedError
            If there is no such line: by this, IPython's formatters learn that the value is still to be shown.
        """
        (waiting, progress), self._waiting = self._waiting, (None, None)
        if progress is None or waiting is not value or not progress.becomes(value._repr_mimebundle_()):
            raise NotImplementedError

    @line_magic
    @_insert_options(option_line.COMPARE)
    def ufunc_compare(self, line: str) -> Comparison | None:
        """Check that functions agree on the same arguments, then time them in turns.

        Functions are names, expressions in quotes, or "numexpr: 4*a + exp(-a)".  Write the arguments after --, as
        expressions; without them, random numbers are used.

        ::

            %ufunc_compare f np.exp "lambda x: np.exp(x)"
            %ufunc_compare f g --sizes 10:1e7 --ref g -- x y

        Options
        -------
        {options}
        """
        from ..model import ComparisonError
        from .compare_line import run_line

        assert self.shell is not None
        try:
            with self._make_progress() as progress, _show_stop("%ufunc_compare", "measured nothing"):
                comparison = run_line(line, names=self.shell.user_ns, progress=progress)
            self._waiting = comparison, progress
        except (OptionError, ComparisonError) as error:
            raise UsageError(str(error)) from None
        if comparison is None:
            self._show_help("%ufunc_compare")
        return comparison

    @line_magic
    @_insert_options(option_line.SAVE)
    def ufunc_save(self, line: str) -> SavedModule | None:
        """Save a cell as a module, a folder that pip installs.

        It has the functions' source and machine code, type stubs and a README.  Where the machine code fits, no
        compiler is needed.  The last part of a path is the module's name.

        ::

            %ufunc_save fastmath              the last cell
            %ufunc_save libs/fastmath f g     these functions, from any cells

        Options
        -------
        {options}
        """
        words: list[str] = []
        options = self._parse(line, option_line.SAVE, "%ufunc_save", others=words)
        if options is None:
            return None
        if not words and options:
            raise UsageError("%ufunc_save needs a name for the module.\nWrite %ufunc_save fastmath")
        if not words:
            self._show_help("%ufunc_save")
            return None
        assert self.shell is not None
        (path, *names), defined = words, self.shell.user_ns
        if not names and isinstance(self._last, str):
            raise SaveError(self._last, remedy=f"Name the functions to save: %ufunc_save {path} f g")
        for name in names:
            if name not in defined:
                raise SaveError(
                    f"{name!r} is not defined in this notebook.", remedy="Run the cell that defines it first."
                )
        from ..api import save_module

        functions = {name: defined[name] for name in names} if names else self._last
        return save_module(functions, path, force="force" in options, source_only="source_only" in options)

    @line_magic
    @_insert_options(option_line.CONFIG)
    def ufunc_config(self, line: str) -> Remembered | None:
        """Show or set the default options of %%c_ufunc, %%cython_ufunc and %%cuda_device.

        IPython's database stores them, so they outlive the session.  An option on a cell's own line overrides them.

        ::

            %ufunc_config                         show the default options
            %ufunc_config --no-time --parallel=2  add these
            %ufunc_config --reset                 remove all; other options may follow

        These options belong to one cell and cannot be defaults: -n, --signature, -f, --ref, -S, --pgo,
        --annotate-fullc, --show.

        Options
        -------
        {options}
        """
        values = self._parse(line, option_line.CONFIG, "%ufunc_config")
        if values is None:
            return None
        try:
            refused = [name for name in _ONE_CELL if name in values]
            if refused:
                raise OptionError(
                    f"--{refused[0]} belongs to one cell and cannot be a default.",
                    remedy="Write it on the cell's own line.",
                )
            base = Options() if values.pop("reset", False) else self.read_remembered().options
            self._remembered = Remembered(make_options(values, base=base))
        except OptionError as error:
            raise UsageError(str(error)) from None
        if line.strip():
            _store(self.shell, self._remembered.list_changes())
        return self._remembered

    def read_remembered(self) -> Remembered:
        """The options that ``%ufunc_config`` set, in this session or an earlier one."""
        if self._remembered is None:
            try:
                self._remembered = Remembered(make_options(_read_stored(self.shell)))
            except OptionError:
                # Written by a version with other options.
                self._remembered = Remembered(Options())
        return self._remembered

    @line_magic
    @_insert_options(option_line.CACHE)
    def ufunc_cache(self, line: str) -> Caches | None:
        """Show the cache of compiled code, and what of it this session has loaded.

        Options
        -------
        {options}
        """
        from .. import runtime
        from ..store import open_default, read_size

        values = self._parse(line, option_line.CACHE, "%ufunc_cache")
        if values is None:
            return None
        cache = open_default()
        if "clear" in values:
            cache.clear()
        if "prune" in values:
            cache.prune(read_size(values["prune"], name="--prune"))
        return Caches(cache, *runtime.measure_weight(), *runtime.count_mappings())

    @line_magic
    def ufunc_doctor(self, line: str) -> Diagnosis | None:
        """Show the compilers, CPU, OpenMP, SIMD math, caches and packages that this extension finds."""
        from ..api import doctor

        return None if self._parse(line, (), "%ufunc_doctor") is None else doctor()


@dataclass(frozen=True)
class Caches:
    """The output of ``%ufunc_cache``: the cache, and the number and bytes of the objects that this process has open.

    A process may have at most ``most_mappings`` memory mappings, and each object takes two of them.
    """

    cache: Cache
    loaded: int
    loaded_bytes: int
    mappings: int = 0
    most_mappings: int = 0

    def __repr__(self) -> str:
        objects = f"{self.loaded} object{'s' * (self.loaded != 1)} loaded, {self.loaded_bytes / 1e6:.1f} MB of code"
        limit = f"; {self.mappings:,} of {self.most_mappings:,} memory mappings" if self.most_mappings else ""
        return f"{self.cache!r}\nIn this process: {objects}{limit}."


def _read_stored(shell: Any) -> dict[str, Any]:
    """Options in the shell's database; ``{}`` if there is none or it cannot be read."""
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


#: Result types that replace their progress line.
_SHOWN = (("ufunc_magic.render.report", "Report"), ("ufunc_magic.render.comparison", "Comparison"))


def load(shell: InteractiveShell) -> None:
    """Register the magics in ``shell``; a second call changes nothing."""
    if _find_registered(shell) is not None:
        return
    magics = UfuncMagics(shell)
    shell.register_magics(magics)
    shell.events.register("pre_run_cell", magics.before_cell)
    shell.events.register("post_run_cell", magics.after_cell)
    if shell.display_formatter is not None:
        for room, name in _SHOWN:
            shell.display_formatter.ipython_display_formatter.for_type_by_name(room, name, magics.show_in_place)
    completion.install(shell)
    first_use.prepare(shell)
    UfuncMagicError.is_colored = staticmethod(lambda: str(shell.colors).lower() != "nocolor")


def unload(shell: InteractiveShell) -> None:
    """Remove the magics from ``shell``; bound functions stay."""
    magics = _find_registered(shell)
    if magics is None:
        return
    shell.events.unregister("pre_run_cell", magics.before_cell)
    shell.events.unregister("post_run_cell", magics.after_cell)
    magics.capture.end()
    completion.remove(shell)
    del shell.magics_manager.registry[UfuncMagics.__name__]
    for kind, names in magics.magics.items():
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)


def _find_registered(shell: InteractiveShell) -> UfuncMagics | None:
    magics: UfuncMagics | None = shell.magics_manager.registry.get(UfuncMagics.__name__)
    return magics
