"""A language is a folder and a line: `support.rpn`, and its row of the table, as CONTRIBUTING.md has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ufunc_magic as um
from support import REPOSITORY
from ufunc_magic import pipeline
from ufunc_magic.model import LANGUAGES, LanguageEntry

SOURCE = "hyp(a, b): a a * b b * + sqrt\nhalf(x): x 2 /\n"
CONTRIBUTING = REPOSITORY / "CONTRIBUTING.md"


@pytest.fixture(autouse=True)
def rpn(monkeypatch: pytest.MonkeyPatch, shared_cache: Path) -> None:
    monkeypatch.setitem(LANGUAGES, "rpn", LanguageEntry("RPN", "%%rpn_ufunc", ".rpn", "support.rpn"))


def build(source: str = SOURCE, **keywords: object) -> Any:
    return pipeline.build_source(source, language="rpn", keywords=keywords)


def test_a_cell_of_it_becomes_ufuncs_that_are_verified_and_travel() -> None:
    built = build()
    assert (built.hyp(3.0, 4.0), built.half(3.0)) == (5.0, 1.5)
    assert built.object_code.language == "rpn"
    assert built.report(size=100).ok
    assert um.loads(um.dumps(built.hyp)) is built.hyp
    assert build().cached


def test_an_option_of_other_languages_is_refused_by_its_name() -> None:
    with pytest.raises(um.OptionError, match="this one is RPN"):
        build(types="f4")


def test_its_error_counts_its_own_lines() -> None:
    with pytest.raises(um.ParseError, match=":2:"):
        build("f(x): x\ng(x): x x\n")


def test_the_row_in_the_documentation_is_the_one_that_is_tested() -> None:
    row = re.search(r'"rpn": (LanguageEntry\(.*?\)),', CONTRIBUTING.read_text(encoding="utf-8"))
    assert row
    assert eval(row[1].replace("ufunc_magic.languages.rpn", "support.rpn")) == LANGUAGES["rpn"]
