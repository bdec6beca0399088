"""Cells as a module that pip installs: its name, what travels of each cell, and its folder."""

from __future__ import annotations

import hashlib
import json
import keyword
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ... import runtime, store
from ...languages import find_language
from ...model import LANGUAGES, ObjectCode, Options, SaveError, Target, find_source_suffix, make_options, pack
from ...runtime import Build, DefFunction, LoadedObject, PlainFunction
from . import package_texts, type_stubs
from .carried_files import CarriedFiles, SourceText, carry_files
from .exports import ModuleMember, resolve_exports
from .package_texts import ModuleCell

#: File in the package with its writer and the digests of all files written.
_MANIFEST = "ufunc_magic.json"
#: Only for the report of a cell, or to find faults in it.
_LEFT_OUT = frozenset({"annotate", "annotate_fullc", "sanitize"})


@dataclass(frozen=True)
class SavedModule:
    """A module that was saved.  As text, and for functions that take a path, it is its folder, which pip installs.

    Attributes
    ----------
    name : str
    path : pathlib.Path
    functions : tuple of str
    files : tuple of str
        Those of the user's that went along, as they are called in the package.
    notes : tuple of str
    """

    name: str
    path: Path
    functions: tuple[str, ...]
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:  # so that %pip install $module is what it looks like
        return str(self.path)

    def __repr__(self) -> str:
        try:
            relative = os.path.relpath(self.path)
        except (OSError, ValueError):  # another disk, or a working folder that was deleted
            relative = ".."
        shown = str(self.path) if relative.startswith("..") else os.path.join(".", relative)
        lines = [f"{shown}: {', '.join(self.functions)}", f"pip install {shown}"]
        if self.files:
            lines.append(f"Copied files of yours: {', '.join(self.files)}")
        return "\n".join([*lines, *self.notes])


def save(
    functions: Any,
    path: str | os.PathLike[str],
    *,
    force: bool,
    source_only: bool,
    compile_again: Callable[..., Build],
    files_of: Callable[..., Sequence[str] | None],
) -> SavedModule:
    """Write the folder of `ufunc_magic.save_module`, which passes what compiles a cell and what knows its files."""
    folder = Path(os.path.abspath(Path(path).expanduser()))
    name = _check_name(folder.name)
    before = _read_written(folder, name, force=force)
    listed = resolve_exports(functions)
    cells = list(dict.fromkeys(member.loaded for member in listed))
    texts = [_read_source_text(loaded, name) for loaded in cells]
    sources = dict(zip(texts, (loaded.object_code for loaded in cells), strict=True))

    def recorded_files(text: SourceText) -> Sequence[str] | None:
        code = sources[text]
        options = make_options(code.options)
        return files_of(code.source, language=text.language, options=options, name=code.name)

    carried = carry_files(texts, recorded_files)
    package = f"src/{name}"
    contents = {f"{package}/{place}": content for place, content in carried.contents.items()}
    module_cells = []
    for n, (loaded, text) in enumerate(zip(cells, texts, strict=True)):
        stem = "cell" if len(cells) == 1 else f"cell{n + 1}"
        source = f"{stem}{find_source_suffix(loaded.object_code.language)}"
        own = [member for member in listed if member.loaded is loaded]
        options = _write_keywords(text.options, carried, n)
        target = ""
        if not source_only:
            code = _ship_object_code(loaded, text, own, name=f"{name}/{source}", carried=carried, again=compile_again)
            code = replace(code, name=f"{name}/{source}", options={k: _make_relative(v) for k, v in options.items()})
            contents[f"{package}/{stem}.ufmo"] = pack(code, key=runtime.choose_secret(None))
            target = _spell_target(code.target)
        contents[f"{package}/{source}"] = text.text.encode()
        module_cells.append(
            ModuleCell(
                source=source,
                code="" if source_only else f"{stem}.ufmo",
                compiler=f"compile_{text.language}",
                options={**options, "name": f"{name}/{source}"},
                names={member.name: member.own for member in own},
                title="C++" if text.options.cplus and text.language == "c" else LANGUAGES[text.language].title,
                target=target,
            )
        )
    values = {member.name: member.value for member in listed}
    contents |= {
        f"{package}/__init__.py": package_texts.write_loader(module_cells).encode(),
        f"{package}/__init__.pyi": type_stubs.write_stubs(values).encode(),
        f"{package}/py.typed": b"",
        "pyproject.toml": package_texts.write_pyproject(
            name, module_cells, version=version("ufunc_magic"), dependencies=_list_dependencies(texts, carried)
        ).encode(),
        "README.md": package_texts.write_readme(name, module_cells, _list_calls(listed)).encode(),
    }
    notes = _write(folder, package, contents, before)
    return SavedModule(name, folder, tuple(values), tuple(sorted(carried.contents)), notes)


# --------------------------------------------------------------------------------------------- the name


def _check_name(name: str) -> str:
    """The module's name, if pip and Python can both have it and nobody else has."""
    if not re.fullmatch(r"[A-Za-z](\w*[A-Za-z0-9])?", name, re.ASCII):
        raise SaveError(
            f"{name!r} is not a module name that pip can install.",
            remedy="Use letters, digits and underscores; begin with a letter, and end with a letter or digit.",
        )
    if keyword.iskeyword(name):
        raise SaveError(f"{name!r} is a Python keyword, so it cannot be imported.", remedy="Choose another name.")
    if name in sys.stdlib_module_names:
        raise SaveError(f"{name!r} is a module of Python's standard library.", remedy="Choose another name.")
    # Not importlib.util.find_spec, which believes sys.modules, where a cell of the name may be (-n).
    spec = PathFinder.find_spec(name)
    if spec is not None and spec.origin and not (Path(spec.origin).parent / _MANIFEST).is_file():
        raise SaveError(
            f"{name!r} already is a module ({spec.origin}), which the new one would hide or replace.",
            remedy="Choose another name.",
        )
    return name


# ------------------------------------------------------------------------------------------- each cell


def _read_source_text(loaded: LoadedObject, name: str) -> SourceText:
    code = loaded.object_code
    language = "c" if code.language == "c++" else code.language
    values = {k: v for k, v in code.options.items() if k not in _LEFT_OUT}
    text = code.source
    if language == "cython":
        # An extension module of its own, also where the same cell is bound, or saved under another name.
        text = f"{text.rstrip()}\n\n# Saved as {name}.\n"
    return SourceText(text, language, make_options(values))


def _write_keywords(options: Options, carried: CarriedFiles, n: int) -> dict[str, Any]:
    """The keywords that compile cell ``n`` in the module's folder."""
    values = options.list_changes()
    values.pop("pgo", None)  # it runs the cell's own statements, with gcc only, and changes no result
    if values.get("parallel") == -1:
        values["parallel"] = True
    for word, places in (("include", carried.include[n]), ("src", carried.src[n])):
        values.pop(word, None)
        if places:
            values[word] = [place if os.path.isabs(place) else PurePosixPath(place) for place in places]
    return values


def _make_relative(value: Any) -> Any:
    """An option's value without paths, which the object code does not know."""
    return [str(word) for word in value] if isinstance(value, list) else value


def _ship_object_code(
    loaded: LoadedObject,
    text: SourceText,
    own: Sequence[ModuleMember],
    *,
    name: str,
    carried: CarriedFiles,
    again: Callable[..., Build],
) -> ObjectCode:
    """The machine code that is shipped: that of the cell or, where something of it differs, compiled now."""
    if (
        text.text != loaded.object_code.source
        or carried.contents
        or text.options.list_changes() != loaded.object_code.options
    ):
        build = again(text.text, language=text.language, options=text.options, name=name)
        for member in own:
            build[member.own]  # raises, where the files have changed since
        loaded = build.loaded
    find_language(loaded.object_code).complete(loaded.object_code)
    code = loaded.prepare_to_send()
    words = (*text.options.compile_args, *(os.environ.get(w, "") for w in ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "CC")))
    if re.search(r"-m(?!tune|move-max|store-max)\w", " ".join(words)) and code.target.level == "baseline":
        # -march=native and its like, of which the target knows nothing.
        level = f"native: {' '.join(runtime.cpu_features())}"
        return replace(code, target=replace(code.target, level=level))
    return code


def _spell_target(target: Target) -> str:
    """``linux x86_64 (glibc 2.35 or newer)``."""
    native = target.level != "baseline"
    needs = [f"{target.libc} or newer"] * bool(target.libc) + [target.python] * bool(target.python)
    needs += ["a CPU like the one it was made on"] * native
    more = f" ({', '.join(needs)})" if needs else ""
    return f"{target.os} {target.machine}{more}"


def _list_dependencies(texts: Sequence[SourceText], carried: CarriedFiles) -> list[str]:
    names = sorted(carried.distributions - {"numpy", "Cython", "ufunc_magic"})
    return [*names, *["torch"] * any(text.options.torch for text in texts)]


def _list_calls(listed: Sequence[ModuleMember]) -> list[str]:
    """How functions are called: ``logit(p)``."""
    calls = []
    for member in listed:
        value = member.value
        function = next((c for c in member.loaded.object_code.functions if c.name == member.own), None)
        if function and isinstance(value, np.ufunc | DefFunction | PlainFunction):
            calls.append(f"{member.name}({', '.join(function.parameters[: function.nin or None])})")
    return calls


# ------------------------------------------------------------------------------------------ the folder


@dataclass(frozen=True)
class _Before:
    """A folder that an earlier save has written: digests of its files, and of them what the user has changed."""

    digests: Mapping[str, str]
    changed: frozenset[str]


def _read_written(folder: Path, name: str, *, force: bool) -> _Before | None:
    """Read the record of an earlier save there; None if there is none.

    Raises
    ------
    SaveError
        If it is somebody else's, or may not be replaced.
    """
    if not os.path.lexists(folder) or (_is_folder(folder) and not os.listdir(folder)):
        return None
    package = folder / "src" / name
    manifest = package / _MANIFEST
    try:
        digests = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        if not _is_folder(folder):
            raise ValueError("a link")
        changed = frozenset(path for path, digest in digests.items() if _digest_file(folder / path) not in (digest, ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SaveError(
            f"{folder} was not written by %ufunc_save, so it is not replaced.",
            remedy="Choose another name, or move the folder away.",
        ) from None
    if not force:
        raise SaveError(f"{folder} already exists.", remedy="Add --force (force=True) to replace it.")
    others = {p.relative_to(folder).as_posix() for p in package.rglob("*") if p.is_file()} - digests.keys()
    others = {p for p in others if "__pycache__" not in p and not p.endswith(f"/{_MANIFEST}")}
    edited = {path for path in changed if path.startswith(f"src/{name}/")}
    if others or edited:
        raise SaveError(
            f"{folder} has files of yours that would be lost: {', '.join(sorted(others | edited))}.",
            remedy="Move them away, or save under another name.",
        )
    return _Before(digests, changed)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _digest_file(path: Path) -> str:
    """SHA-256 of a file; ``""`` where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def _write(folder: Path, package: str, contents: Mapping[str, bytes], before: _Before | None) -> tuple[str, ...]:
    """Write the folder; what the user has changed outside of the package stays, and a note says so."""
    stay = before.changed if before else frozenset()
    # The digests of what was written then: it is still the user's at the next save.
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    digests |= {path: before.digests[path] for path in stay} if before else {}
    manifest = {"written by": f"ufunc_magic {version('ufunc_magic')}", "files": digests}
    files = {path: content for path, content in contents.items() if path not in stay}
    files[f"{package}/{_MANIFEST}"] = json.dumps(manifest, indent=1).encode() + b"\n"
    try:
        if before is None:
            store.write_project(folder, files)
        else:
            store.replace_project(folder, package, files)
    except OSError as fault:
        if isinstance(fault, FileNotFoundError) and not folder.parent.is_dir():
            raise SaveError(f"{folder.parent} is not a folder.", remedy="Create it first.") from None
        raise SaveError(
            f"{folder} cannot be written ({fault.strerror or 'something has appeared there'}).",
            remedy="Choose a folder that you can write to.",
        ) from fault
    return tuple(f"{path} has changes of yours and was left alone." for path in sorted(stay))
