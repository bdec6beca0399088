"""What the editor learns of a cell: messages as metadata of an output without data."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from ufunc_magic.model import Diagnostic
from ufunc_magic.notebook.editor_marks import EditorMarks

WRONG = "%%c_ufunc -q\ndouble f(double x) {\n    return x + y;\n}"


@pytest.fixture
def publisher(loaded: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> CapturingDisplayPublisher:
    publisher = CapturingDisplayPublisher()
    monkeypatch.setattr(loaded, "display_pub", publisher)
    return publisher


def marks(publisher: CapturingDisplayPublisher, text: str) -> list[dict[str, Any]]:
    (output,) = (one for one in publisher.outputs if "ufunc_magic" in (one["metadata"] or {}))
    assert output["data"] == {}
    message = output["metadata"]["ufunc_magic"]
    assert message["crc32"] == zlib.crc32(text.encode())
    return list(message["diagnostics"])


def test_a_failed_cell_marks_its_line_and_column(
    loaded: InteractiveShell, publisher: CapturingDisplayPublisher
) -> None:
    with capture_output():
        loaded.run_cell(WRONG, cell_id="c1")
    (mark,) = marks(publisher, WRONG)
    assert (mark["severity"], mark["line"], mark["column"]) == ("error", 2, 16)
    assert "y" in mark["message"]


def test_a_wrong_option_marks_the_magic(loaded: InteractiveShell, publisher: CapturingDisplayPublisher) -> None:
    text = "%%c_ufunc --fast-maths\nint f(int a) { return a; }"
    with capture_output():
        loaded.run_cell(text, cell_id="c1")
    (mark,) = marks(publisher, text)
    assert (mark["line"], mark["message"]) == (0, "--fast-maths is not an option.")
    assert "--fast-math" in mark["hint"]


def test_without_an_editor_nothing_is_sent(loaded: InteractiveShell, publisher: CapturingDisplayPublisher) -> None:
    with capture_output():
        loaded.run_cell(WRONG)
    assert publisher.outputs == []


def test_a_message_about_a_header_is_on_the_line_that_includes_it(
    loaded: InteractiveShell, publisher: CapturingDisplayPublisher
) -> None:
    diagnostics = (
        Diagnostic("error", "unknown type name 'flot'", "mine.h", 7, 1),
        Diagnostic("note", "included here", "In[1]", 2),
        Diagnostic("note", "declared here", "In[1]", 3),
        Diagnostic("warning", "unused variable 'a'", "In[1]", 4, 9, "-Wunused-variable"),
    )
    EditorMarks(loaded, "text", "In[1]", visible=True).show(diagnostics)
    header, warning = marks(publisher, "text")
    assert (header["line"], header["message"]) == (2, "mine.h:7: unknown type name 'flot'")
    assert header["notes"] == [{"message": "declared here", "line": 3}]
    assert (warning["severity"], warning["line"], warning["option"]) == ("warning", 4, "-Wunused-variable")
