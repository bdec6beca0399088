"""The annotated view: read from Cython's page, kept as JSON, shown as text and HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import ufunc_magic as um
from ufunc_magic.languages.cython import Annotated, annotate
from ufunc_magic.languages.cython.annotate import AnnotatedLine
from ufunc_magic.model import ToolchainError

CELL = '''\
# cython: language_level=3
cimport cython

cdef double poly(double x) noexcept:   # "quoted" <angle> & ampersand
    return x*x*x - 3*x

def tally(values):
    """ünïcode </pre>"""
    result = {}
    for v in values:
        result[v] = result.get(v, 0) + 1
    return result
'''


def c_code(line: AnnotatedLine) -> str:
    return "".join(text for _, text in line.pieces)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Annotated:
    """What the installed Cython makes of ``CELL``."""
    main = pytest.importorskip("Cython.Compiler.Main")
    options = pytest.importorskip("Cython.Compiler.Options")
    source = tmp_path_factory.mktemp("annotate") / "cell.pyx"
    source.write_text(CELL, encoding="utf-8")
    main.compile(str(source), options=options.CompilationOptions(annotate=True, language_level=3))
    return annotate.read(source.with_suffix(".html").read_text(encoding="utf-8"), name="In[3]")


@pytest.mark.cython
def test_lines_are_those_of_the_cell(view: Annotated) -> None:
    assert [line.source for line in view.lines] == CELL.rstrip("\n").split("\n")
    assert [line.number for line in view.lines] == list(range(1, len(view.lines) + 1))


@pytest.mark.cython
def test_plain_c_costs_nothing_and_python_does(view: Annotated) -> None:
    by_source = {line.source.strip(): line for line in view.lines}
    poly, update = by_source["return x*x*x - 3*x"], by_source["result[v] = result.get(v, 0) + 1"]
    assert (poly.score, poly.calls) == (0, 0)
    assert "__pyx_v_x * __pyx_v_x" in c_code(poly)
    assert update.score > 5
    assert update.calls >= 3
    assert "py_c_api" in dict(update.pieces)
    assert by_source["cimport cython"].pieces == ()


@pytest.mark.cython
def test_c_code_is_text_without_markup(view: Annotated) -> None:
    code = "".join(c_code(line) for line in view.lines)
    assert re.search(r"<span|&lt;|&amp;", code) is None
    assert "< (0)" in code or "< 0" in code


@pytest.mark.cython
def test_view_of_a_real_cell_survives_json(view: Annotated) -> None:
    assert Annotated.from_json(view.to_json()) == view


@pytest.mark.cython
def test_report_data_carries_the_view() -> None:
    pytest.importorskip("Cython")
    new = um.compile_cython(CELL, annotate=True, annotate_fullc=True)
    view = Annotated.from_json(new.report_data.annotated)
    assert [line.source for line in view.lines[:12]] == CELL.rstrip("\n").split("\n")
    assert "__pyx_f_" in view.complete


# ----------------------------------------------------------------------- a page small enough to read

PAGE = """<html><head><style>.cython.line {}</style></head><body class="cython"><div class="cython">
<pre class="cython line score-0">&#xA0;<span class="">01</span>: <span class="k">cimport</span> x</pre>
<pre class="cython line score-12" onclick="(function(s){s.display='block'})(this.nextElementSibling.style)">+<span
 class="">02</span>: <span class="n">y</span> <span class="o">=</span> a &lt; b</pre>
<pre class='cython code score-12 '>  <span class='py_c_api'>PyObject_Call</span>(a); <span
 class='error_goto'>__PYX_ERR(0, 2, L1)</span>
  <span class='pyx_macro_api'>__Pyx_DECREF</span>(b &amp; 1);
</pre><pre class="cython line score-0">+<span class="">03</span>:     z = 1</pre>
<pre class='cython code score-0 '>  z = 1;
</pre></div></body></html>""".replace("<span\n class", "<span class")  # broken only to fit these lines
SMALL = Annotated(
    lines=(
        AnnotatedLine(1, "cimport x", 0),
        AnnotatedLine(
            2,
            "y = a < b",
            12,
            (
                ("", "  "),
                ("py_c_api", "PyObject_Call"),
                ("", "(a); "),
                ("error_goto", "__PYX_ERR(0, 2, L1)"),
                ("", "\n  "),
                ("pyx_macro_api", "__Pyx_DECREF"),
                ("", "(b & 1);\n"),
            ),
        ),
        AnnotatedLine(3, "    z = 1", 0, (("", "  z = 1;\n"),)),
    ),
    name="In[3]",
)


def test_page_is_read_into_lines_and_pieces() -> None:
    assert annotate.read(PAGE, name="In[3]") == SMALL


@pytest.mark.parametrize("page", ["", "<html></html>", "<pre class='other'>1: x</pre>"])
def test_page_of_another_shape_is_refused(page: str) -> None:
    with pytest.raises(ToolchainError, match="cannot be read") as caught:
        annotate.read(page)
    assert "Remove -a" in caught.value.remedy


def test_text_form_counts_the_calls_of_each_line() -> None:
    assert SMALL.to_text().split("\n") == [
        "In[3]: Lines that call Python: 1 of 3, line 2 most (2x).",
        "line calls  source",
        "   1        cimport x",
        "   2     2  y = a < b",
        "   3     0      z = 1",
    ]


def test_cell_without_python_says_so() -> None:
    assert Annotated((AnnotatedLine(1, "cdef int x", 0),)).summary == "No line calls Python."


class Elements(HTMLParser):
    """Every element of a fragment with its attributes, and whether all were closed in order."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(fragment)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_needs_neither_style_sheet_nor_script() -> None:
    page = Elements(SMALL.to_html())
    assert page.open == []
    assert {tag for tag, _ in page.found} == {"div", "strong", "span", "details", "summary", "pre"}
    assert {name for _, attributes in page.found for name in attributes} == {"style"}


def test_html_sets_no_colour_of_its_own_under_text() -> None:
    """Light and dark themes both keep their contrast: tints are translucent, letters the theme's."""
    styles = ";".join(attributes.get("style") or "" for _, attributes in Elements(SMALL.to_html()).found)
    properties = [part.partition(":") for part in styles.split(";") if part]
    assert {value for name, _, value in properties if name == "color"} == {"inherit"}
    backgrounds = {value for name, _, value in properties if name == "background"} - {"transparent"}
    opacities = [float(value.rstrip(")").rpartition(",")[2]) for value in backgrounds if value.startswith("rgba(")]
    assert len(opacities) == len(backgrounds) > 0
    assert max(opacities) <= 0.4


def test_html_holds_the_source_and_the_folded_code() -> None:
    page = Elements(SMALL.to_html())
    assert "y = a < b" in page.text
    assert "__Pyx_DECREF(b & 1);" in page.text
    assert [tag for tag, _ in page.found].count("details") == 2


def test_whole_c_is_folded_below_the_lines() -> None:
    whole = Annotated(SMALL.lines, "In[3]", complete="int <all>;")
    page = Elements(whole.to_html())
    assert page.text.endswith("Complete cythonized codeint <all>;")
    assert Annotated.from_json(whole.to_json()) == whole


def test_heavier_lines_are_tinted_more() -> None:
    def tint(score: int) -> float:
        shown = Annotated((AnnotatedLine(1, "x", score, (("py_c_api", "f"),)),)).to_html()
        return float(re.findall(r"rgba\(255,190,0,([\d.]+)\)", shown)[0])

    assert 0 < tint(1) < tint(10) < tint(300) < 0.4


def test_notebook_gets_html_and_terminal_gets_text() -> None:
    assert (str(SMALL), SMALL._repr_html_()) == (SMALL.to_text(), SMALL.to_html())
