"""Names of rooms are loaded when somebody asks for them, and whole."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import lazy_loader
import pytest

from support import run_python


def test_a_file_that_another_thread_is_importing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "slow_room"
    room.mkdir()
    (room / "__init__.py").touch()
    (room / "__init__.pyi").write_text("from .slow_file import name as name\n")
    (room / "slow_file.py").write_text("import slow_room\nslow_room.begun()\nname = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import slow_room

    names, _, _ = lazy_loader.attach_stub("slow_room", str(room / "__init__.py"))
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(names("name"))
        except AttributeError as fault:
            answers.append(fault)

    other = threading.Thread(target=ask)

    def begun() -> None:
        other.start()
        other.join(0.5)  # it cannot end before this thread has imported the file

    slow_room.begun = begun
    try:
        assert names("name") == 2
        other.join()
        assert answers == [2]
    finally:
        for name in ("slow_room", "slow_room.slow_file"):
            sys.modules.pop(name, None)


@pytest.mark.cython
def test_every_name_of_the_package_loads_at_once_where_the_user_asks_for_it() -> None:
    pytest.importorskip("Cython", reason="Cython is not installed")
    run_python("import ufunc_magic; assert ufunc_magic.compile_c", EAGER_IMPORT="1")
