"""Records which cell bound which name in a shell, and removes the names of a cell that fails."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model import Options
    from ..runtime import Build

#: A line that starts with up to six words (types, qualifiers) and then a name and a parenthesis.
_DEFINITION = re.compile(
    r"^[ \t]*(?!(?:return|else|case|goto|static)\b)(?:\w[\w:<>,]*[\s*&]+){1,6}(\w+)\s*\(", re.MULTILINE
)
_ANNOTATED = re.compile(r"\bufunc:.*\bname=(\w+)")
#: Text before functions of C++ and its dialects, which hides them from `_DEFINITION`.
_PREFIX = re.compile(r'\bextern\s+"C(?:\+\+)?"\s*\{?|\btemplate\s*<[^<>;{}]*>|__launch_bounds__\s*\([^()]*\)')
#: A definition at the left margin of a Cython cell.
_CYTHON = re.compile(r"^(?:def|class|cp?def\b[^(=:\n]*?(?:class)?)\s+\**(\w+)\s*(?=[(:]|$)", re.MULTILINE)


def find_defined(cell: str) -> set[str]:
    """Find the names that ``cell`` seems to define; works for broken cells, too."""
    plain = _PREFIX.sub(" ", cell)
    words = {*_DEFINITION.findall(plain), *_ANNOTATED.findall(cell), *_CYTHON.findall(cell)}
    return words | {f"{word}_" for word in words}


class Names:
    """The names that cells bound in one shell's namespace, by cell.

    A front end that gives its cells an identity (JupyterLab, VS Code) lets us recognize a cell after its functions were
    renamed; otherwise only the failing cell's own text is known.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._bound: dict[str, Any] = {}
        self._cells: dict[str, tuple[str, ...]] = {}
        self._explained = False

    def forget(self, cell: str, *, cell_id: str | None = None) -> None:
        """Remove the names that an earlier run of ``cell`` bound, unless the user has rebound them."""
        names = {*self._cells.pop(cell_id or "", ()), *find_defined(cell)}
        self._shell.drop_by_id({name: self._bound.pop(name) for name in names & self._bound.keys()})

    def describe_hidden(self, build: Build, options: Options) -> tuple[str, ...]:
        """One sentence for each name that replaces a builtin or a variable of the user, or is not bound because of
        it; and, once, how to bind no cdef function."""
        new, withheld = self._select_new(build), self.list_withheld(build)
        internal = sorted(_list_internal(build) & new.keys())
        notes = [*map(self._describe_replaced, new), *map(self._explain_withheld, sorted(withheld))]
        if internal and options.time and not self._explained:
            self._explained = True
            notes.append(
                f"{', '.join(internal)}: cdef, which %%cython does not bind; %ufunc_config --no-cdef binds none"
            )
        return tuple(filter(None, notes))

    def list_withheld(self, build: Build) -> set[str]:
        """The cdef functions that are not bound: a builtin or a variable of the user has their name."""
        return {name for name in _list_internal(build) if self._is_taken(name)}

    def _select_new(self, build: Build) -> dict[str, Any]:
        """Functions without those that the user already has under the same name, such as a module that a Cython cell
        imports."""
        namespace, internal = self._shell.user_ns, _list_internal(build)
        return {
            name: value
            for name, value in build.items()
            if (name in self._bound or name not in namespace or namespace[name] is not value)
            and not (name in internal and self._is_taken(name))
        }

    def bind(self, build: Build, *, cell_id: str | None = None) -> None:
        """Push the functions of a cell into the namespace and remember them as this cell's."""
        ours = self._select_new(build)
        self._shell.push(ours)
        self._bound.update(ours)
        if cell_id:
            self._cells[cell_id] = tuple(ours)

    def _is_taken(self, name: str) -> bool:
        """Whether a name is a builtin, or the user's own."""
        namespace = self._shell.user_ns
        return hasattr(builtins, name) or (name in namespace and namespace[name] is not self._bound.get(name))

    def _explain_withheld(self, name: str) -> str:
        whose = "your own variable" if name in self._shell.user_ns else "Python's builtin"
        return (
            f"{name} is not bound: it is a cdef function, and {whose} has the same name. To bind it under "
            f"another name, write # ufunc: name={name}_ above it."
        )

    def _describe_replaced(self, name: str) -> str:
        namespace = self._shell.user_ns
        if name in namespace and namespace[name] is not self._bound.get(name):
            return f"{name} replaces your variable of the same name ({type(namespace[name]).__name__})."
        if hasattr(builtins, name):
            return f"{name} hides Python's builtin of the same name, which is still available as builtins.{name}."
        return ""


def _list_internal(build: Build) -> set[str]:
    return {function.name for function in build.report_data.functions if function.internal}
