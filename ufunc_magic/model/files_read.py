"""The files that a compilation depends on, as its compiler reports them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FilesRead:
    """Files of the user that a compilation read, and paths where a new file would change its result.

    Attributes
    ----------
    files : tuple of str
        Absolute paths of files whose content matters.
    libraries : tuple of str
        Absolute paths of files for which size and time are enough.
    absent : tuple of str
        Absolute paths where a new file would be read instead of one of ``files``, or of a header of the system.
    folder : str
        The working folder, if another one would mean other files; else ``""``.
    import_path : tuple of str
        ``sys.path``, if it was searched.
    known : bool
        False if only the preprocessor knows a file's name, which it does not report.
    """

    files: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    folder: str = ""
    import_path: tuple[str, ...] = ()
    known: bool = True
