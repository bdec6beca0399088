"""The report's text, HTML and JSON, written out."""

import base64
import importlib.util
import itertools
import json
import re
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

import ufunc_magic as um
from ufunc_magic.model import Diagnostic
from ufunc_magic.render import Agreement, Bound, Comparison, Level, Report, Row, spell_duration, spell_percent
from ufunc_magic.render.figure import is_drawable, make_lines, write_figure
from ufunc_magic.render.tables import (
    COLORS,
    MEANINGS,
    MORE_COLORS,
    choose_colors,
    spell_ratio,
    spell_ratio_range,
    spell_significant,
    write_headline,
)

MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None

AGREES = Agreement(ok=True, max_ulp=1.0, worst=((0.5,), 1.0, 1.0000000000000002), compared=20_000)
DISAGREES = Agreement(
    ok=False,
    max_ulp=float("inf"),
    worst=((0.5, 2.0), 1.5, float("nan")),
    compared=20_000,
    detail="at (0.5, 2.0) is nan, expected 1.5; 3 of 20,000 differ",
)
LOGIT = Comparison(
    "logit",
    (
        Row("Python loop", "python", 1_000_000, 20_000, 0.152, 0.02, 1.0),
        Row(
            "NumPy expression", "numpy", 1_000_000, 1_000_000, 0.00521, 0.01, 29.17, AGREES, speedup_range=(28.1, 31.0)
        ),
        Row(
            *("ufunc, 1 thread", "ufunc", 1_000_000, 1_000_000, 0.000934, 0.03, 162.7, AGREES),
            note="memory-bound",
            speedup_range=(155.2, 171.0),
        ),
    ),
    "d->d",
)
WRONG = Comparison(
    "wrong",
    (
        Row("Python loop", "python", 1_000_000, 20_000, 0.152, 0.02, 1.0),
        Row("ufunc, 1 thread", "ufunc", 1_000_000, 1_000_000, 0.000934, 0.03, 163.0, DISAGREES),
    ),
    "dd->d",
)
REPORT = Report(
    "In[3]",
    functions=(
        Bound("logit", types=("f->f", "d->d"), call="logit(x)"),
        Bound("dot", types=("dd->d",), doc="Dot.", core="(n),(n)->()"),
        Bound("area", "plain", reason="it takes a struct by value"),
    ),
    comparisons=(LOGIT,),
    diagnostics=(Diagnostic("warning", "unused variable 'y'", "In[3]", 4, 8, "-Wunused-variable", "double y;"),),
    notes=("log replaced your own variable of that name (int).",),
    seconds={"parse": 0.001, "compile": 0.062, "load": 0.0004},
    toolchain="gcc 12.2.0",
)


def test_report_text_is_an_aligned_table() -> None:
    expected = """\
logit: 0.934 ns an element, 163x Python, 5.58x NumPy
  logit(x)  d->d (also f->f); 1,000,000 elements; results agree to 1 ulp (20,000
    checked)
                       time  per element  speed-up    range
  Python loop        152 ms       152 ns        1x  timed on 20,000 elements
  NumPy expression  5.21 ms      5.21 ns     29.2x    28-31
  ufunc, 1 thread    934 us     0.934 ns      163x  155-171  memory-bound

dot  (n),(n)->()  dd->d  Dot.
area: a plain function, not a ufunc: it takes a struct by value
In[3]:4:8: warning: unused variable 'y' [-Wunused-variable]
  double y;
         ^
note: log replaced your own variable of that name (int).
In[3]: compiled in 62.0 ms with gcc 12.2.0"""
    assert str(REPORT) == expected


def test_disagreement_is_worded_and_has_no_speed_up() -> None:
    expected = """\
wrong  dd->d
  1,000,000 elements; results DISAGREE
                     time  per element  speed-up  range
  Python loop      152 ms       152 ns        1x  timed on 20,000 elements
  ufunc, 1 thread  934 us     0.934 ns
      DISAGREES at (0.5, 2.0) is nan, expected 1.5; 3 of 20,000 differ"""
    assert str(WRONG) == expected


def test_disagreement_is_red_and_worded_in_html_without_bar() -> None:
    row = WRONG._repr_html_().split("<tr")[-1]
    assert re.search(r'<strong style="background:#\w+;color:#\w+[^"]*">DISAGREES</strong>', row)
    assert "border-top" not in row
    assert "163" not in row


def test_cached_report_says_where_the_code_came_from() -> None:
    report = Report("In[3]", seconds={"load": 0.0004}, cached=True, toolchain="gcc 12.2.0")
    assert str(report) == "In[3]: from cache in 400 us"


@pytest.mark.parametrize(
    ("agreement", "verdict"),
    [
        (Agreement(True, 0.0, compared=7), "results are identical (7 checked)"),
        (Agreement(True, 2.5, compared=1234), "results agree to 3 ulp (1,234 checked)"),
        (Agreement(True, 9e4, compared=9, detail="to 3e-16 of it"), "results agree to 3e-16 of it (9 checked)"),
        (None, "results not checked"),
    ],
)  # fmt: skip
def test_verdict_says_how_far_results_were_checked(agreement: Agreement | None, verdict: str) -> None:
    text = str(Comparison("f", (Row("ufunc", "ufunc", 1, 1, 1.0, agreement=agreement),)))
    assert text.split("\n")[1] == f"  1 element; {verdict}"


def test_remarks_name_scaling_and_what_compiling_cost() -> None:
    row = Row("ufunc", "ufunc", 10, 5, 1.0, note="mine", compile_seconds=0.41)
    assert "timed on 5 elements; mine; compiled in 410 ms" in str(Comparison("f", (row,)))


class _Reader(HTMLParser):
    """Collects tags and checks that they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


def test_html_of_a_comparison_is_a_table_that_explains_its_words() -> None:
    comparison = Comparison("f", (Row("loop", "python", 10, 10, 2e-6, speedup=1.0),), "d->d")
    page = comparison._repr_html_()
    reader, words = _read(page), page.partition("<details")[2]
    heads = ["time", "per element", "speed-up", "range"]
    assert [[text.strip() for text in row] for row in reader.rows] == [
        ["longer is faster", *heads],
        ["loop", "2.00 us", "200 ns", "1x", ""],
    ]
    titles = [attrs["title"] for tag, attrs in reader.tags if tag in ("th", "td", "span") and "title" in attrs]
    assert titles == [MEANINGS[word] for word in ("checked", *heads, *heads)]
    (bar,) = (attrs for tag, attrs in reader.tags if "border-top" in (attrs.get("style") or ""))
    assert "width:100.0%" in (bar["style"] or "")
    assert "<em>time</em>: time of one call" in words
    assert [word for word in MEANINGS if f"<em>{word}</em>" in words] == [*heads, "checked"]


def test_text_has_80_columns_whatever_names_are_like() -> None:
    rows = (
        Row("a Python loop with a label that fills the line to its very end", "python", 10, 10, 2e-6, speedup=1.0),
        Row("ufunc, 1 thread", "ufunc", 10, 10, 2e-12, speedup=1e6, speedup_range=(807_000, 1_250_000)),
    )
    text = str(Comparison("a_function_with_a_name_that_is_longer_than_any_that_people_write", rows, "d->d"))
    assert max(map(len, text.splitlines())) <= 80
    assert "807,000-1,250,000" in text
    assert "a Python loop with" in text


def test_a_row_of_html_has_a_cell_below_each_head_wherever_it_is_pasted() -> None:
    reader = _read(Report("x", comparisons=(LOGIT, WRONG))._repr_html_())
    assert {len(row) for row in reader.rows} == {5}
    assert not any("flex-direction" in (attrs.get("style") or "") for tag, attrs in reader.tags)
    tables = [attrs for tag, attrs in reader.tags if tag in ("table", "thead", "tbody", "tr", "td", "th")]
    assert not any("display" in (attrs.get("style") or "") for attrs in tables)


def test_html_is_well_formed_and_has_headers_and_a_name() -> None:
    reader = _read(REPORT._repr_html_())
    scopes = [attrs["scope"] for tag, attrs in reader.tags if tag == "th"]
    assert scopes == ["col"] * 5 + ["row"] * 3
    assert [attrs["aria-label"] for tag, attrs in reader.tags if tag == "table"] == ["logit(x): times"]
    assert not any(tag in ("style", "script") or "class" in attrs for tag, attrs in reader.tags)


def test_a_button_copies_the_line_that_people_quote() -> None:
    reader = _read(REPORT._repr_html_())
    (button,) = (attrs for tag, attrs in reader.tags if tag == "button")
    assert button["data-text"] == "logit: 0.934 ns an element, 163x Python, 5.58x NumPy"
    assert "clipboard" in (button["onclick"] or "")


def _row(label: str, kind: str, seconds: float, speedup: float, **more: object) -> Row:
    return Row(label, kind, 100, 100, seconds, 0.0, speedup, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([_row("loop", "python", 1.0, 1.0), _row("f", "ufunc", 0.5, 2.0)], "f: 5.00 ms an element, 2.00x Python"),
        (
            [_row("loop", "python", 1.0, 1.0), _row("f", "ufunc", 2.0, 0.5)],
            "f: 20.0 ms an element, 2.00x slower than Python",
        ),
        (
            [_row("loop", "python", 1.0, 1.0), _row("n", "numpy", 0.1, 10.0), _row("f", "ufunc", 0.2, 5.0)],
            "f: 2.00 ms an element, 5.00x Python, 2.00x slower than NumPy",
        ),
        (
            [_row("loop", "python", 1.0, 1.0, inner=10), _row("f", "ufunc", 0.5, 2.0, inner=10)],
            "f: 500 us an inner element, 2.00x Python",
        ),
        ([_row("mine", "other", 1.0, 1.0), _row("theirs", "other", 4.0, 0.25)], "mine is 4.00x faster than theirs"),
        ([_row("mine", "other", 1.0, 1.0), _row("theirs", "other", 0.5, 2.0)], "theirs is 2.00x faster than mine"),
        ([_row("mine", "ufunc", 1.0, 1.0), _row("theirs", "other", 1.0, 1.001)], ""),
        (
            [_row("mine", "other", 1.0, 1.0), _row("theirs", "other", 0.9, 1.1, speedup_range=(1.02, 1.2))],
            "theirs is 1.10x faster than mine",
        ),
        (
            [_row("mine", "other", 1.0, 1.0), _row("theirs", "other", 0.9, 1.1, speedup_range=(0.9, 1.2))],
            "",
        ),
        (
            [_row("mine", "other", 1.0, 1.0), _row("theirs", "other", 1.1, 0.9, speedup_range=(0.8, 1.1))],
            "",
        ),
        ([_row("loop", "python", 1.0, 1.0), _row("f", "ufunc", 0.5, 2.0, agreement=DISAGREES)], ""),
    ],
)
def test_the_line_that_people_quote(rows: list[Row], line: str) -> None:
    assert write_headline("f", rows) == line


def test_a_report_shows_three_notes_and_folds_the_rest() -> None:
    comparison = Comparison("f", LOGIT.rows, "d->d", ("one", "two"))
    report = Report("In[3]", comparisons=(comparison,), notes=("three", "four", "three"), pressure="five", cached=True)
    shown = [line for line in str(report).split("\n") if "note" in line]
    assert shown == ["  note: one", "  note: two", "note: three", "2 more notes: -v shows all"]
    folded = report._repr_html_().partition("2 more notes</summary>")[2]
    assert [f"note: {word}" in folded for word in ("one", "three", "four", "five")] == [False, False, True, True]
    verbose = Report("In[3]", comparisons=(comparison,), notes=report.notes, pressure="five", cached=True, verbose=True)
    assert "note: five" in str(verbose)
    assert "more note" not in str(verbose)


def test_tables_for_papers_and_web_pages() -> None:
    assert REPORT.to_markdown().split("\n")[:5] == [
        "**logit: 0.934 ns an element, 163x Python, 5.58x NumPy**",
        "",
        "|  | time | per element | speed-up | range |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| Python loop | 152 ms | 152 ns | 1x |  |",
    ]
    odd = Comparison("a_b", (Row("50 % | _x_", "other", 1, 1, 1.0, agreement=DISAGREES),))
    assert r"50 % \| \_x\_ | 1.00 s" in odd.to_markdown()
    named = Comparison("a_b", tuple(Row(name, "other", 1, 1, 1.0) for name in ("my_f", "<lambda>", "x*y*z")))
    assert all(f"| {text} | 1.00 s" in named.to_markdown() for text in ("my_f", r"\<lambda>", r"x\*y\*z"))
    assert r"\textless{}lambda\textgreater{} & 1.00 s" in named.to_latex()
    assert "DISAGREES at (0.5, 2.0)" in odd.to_markdown()
    assert r"50 \% \textbar{} \_x\_ & 1.00 s" in odd.to_latex()
    assert REPORT.to_latex().count(r"\\") == 4
    assert OVER.to_markdown().startswith("**wave: time per element**\n\n|  | Python loop | ufunc |\n")


def test_html_sets_no_text_colour_without_a_background() -> None:
    for _, attrs in _read(Report("x", comparisons=(LOGIT, WRONG))._repr_html_()).tags:
        style = attrs.get("style") or ""
        if re.search(r"(?<![-\w])color:(?!inherit)", style):
            assert "background:#" in style


@given(st.text())
def test_html_escapes_whatever_it_is_given(text: str) -> None:
    hostile = f'<script x="{text}">&'
    agreement = Agreement(False, 1.0, detail=hostile)
    comparison = Comparison(
        hostile, (Row(hostile, "other", 1, 1, 1.0, agreement=agreement, note=hostile),), hostile, (hostile,)
    )
    report = Report(
        hostile, comparisons=(comparison,), functions=(Bound(hostile, "plain", reason=hostile),), notes=(hostile,)
    )
    assert "<script" not in report._repr_html_()


def test_cell_cannot_put_tags_into_its_report() -> None:
    """By its name, comments, what the compiler says, what it prints, what it shows."""
    source = """
#include <stdio.h>
#warning <script>said by the compiler</script>
/* <script>above</script> */
double f(double x) { printf("<script>printed</script>\\n"); return x; } // <img src=x onerror=alert(1)>
// <script>
char *g(const char *text) { return 0; }
static int unused(void) { char *script = "<script>"; return script == 0; }
"""
    build = um.compile_c(source, name="<script>name</script>")
    report = build.report(time=0.01, show="c,asm", annotate=True)
    html = report._repr_html_()
    assert "said by the compiler" in html
    assert "<script" not in html
    assert "<img" not in html


def _luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, two: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("color", [*COLORS.values(), *MORE_COLORS])
@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_bars_stand_out_on_light_and_dark_pages(color: str, page: str) -> None:
    assert _contrast(color, page) >= 3


def test_the_badge_of_a_disagreement_is_readable() -> None:
    assert _contrast("#ffffff", "#b3261e") >= 4.5


@given(
    st.lists(
        st.text(st.characters(codec="latin-1", exclude_categories=["C", "Z"]), min_size=1, max_size=60), max_size=5
    )
)
def test_text_keeps_to_its_width(words: list[str]) -> None:
    note = " ".join(words)
    row = Row("Python loop over the ufunc", "scalar", 10**6, 10**3, 123.0, 0.5, 1.0, DISAGREES, 0.5, note)
    assert max(map(len, str(Comparison("f", (row,), "d->d", (note,))).split("\n"))) <= 80


def test_mimebundle_holds_text_and_html_of_the_same_value() -> None:
    assert REPORT._repr_mimebundle_() == {"text/plain": str(REPORT), "text/html": REPORT._repr_html_()}


def test_json_has_every_row_and_only_numbers_that_json_knows() -> None:
    report = Report("In[3]", comparisons=(LOGIT, WRONG))
    read = json.loads(report.to_json(), parse_constant=lambda word: pytest.fail(word))
    assert read["format"] == 1
    assert [row["label"] for c in read["comparisons"] for row in c["rows"]] == [row.label for row in report.rows]
    assert read["comparisons"][1]["rows"][1]["agreement"]["worst"] == [[0.5, 2.0], 1.5, "nan"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ns"),
        (9.34e-10, "0.934 ns"),
        (1.52e-7, "152 ns"),
        (9.999e-7, "1.00 us"),
        (0.0009996, "1.00 ms"),
        (0.152, "152 ms"),
        (12.0, "12.0 s"),
        (1234.5, "1,230 s"),
    ],
)
def test_durations_have_three_digits_and_the_right_unit(seconds: float, text: str) -> None:
    assert spell_duration(seconds) == text


@given(st.floats(1e-9, 1e6))
def test_significant_digits_are_never_off_by_more_than_half_a_step(value: float) -> None:
    assert float(spell_significant(value).replace(",", "")) == pytest.approx(value, rel=5.1e-3)


class _View:
    """An annotated source."""

    def to_text(self) -> str:
        return "1 | x = <1>"

    def to_html(self) -> str:
        return "<pre>1 | x = &lt;1&gt;</pre>"


def test_functions_of_a_module_are_listed_by_why_they_are_no_ufuncs() -> None:
    plain = (
        Bound("f", "python", "f(v)", "takes an array"),
        Bound("g", "python", "g(n)", "returns a list"),
        Bound("h", "python", "h(v, w)", "takes an array"),
        Bound("area", "plain", reason="takes a struct"),
    )
    others = (Bound("Shape", "other", "Shape (class)"), Bound("TABLE", "other", "TABLE"))
    assert str(Report("In[3]", functions=(*plain, *others), cached=True)) == (
        "area: a plain function, not a ufunc: takes a struct\n"
        "f(v), h(v, w): Python functions, because each takes an array\n"
        "g(n): a Python function, because it returns a list\n"
        "also bound: Shape (class), TABLE\n"
        "In[3]: from cache in 0 ns"
    )


def test_a_timed_function_of_a_module_is_titled_by_its_call() -> None:
    rows = (Row("compiled function", "compiled", 0, 0, 2e-6),)
    report = Report(
        "x", functions=(Bound("f", "python", "f(v)", "takes an array"),), comparisons=(Comparison("f", rows),)
    )
    assert str(report).startswith("f(v)\n  results not checked\n")
    assert "<strong>f(v)</strong>" in report._repr_html_()


def test_a_call_without_elements_has_no_time_per_element() -> None:
    lines = str(Comparison("f", (Row("compiled function", "compiled", 0, 0, 2e-6, speedup=1.0),), "n=10")).split("\n")
    assert lines[-1].split() == ["compiled", "function", "2.00", "us", "1x"]


def test_a_compiled_function_that_disagrees_is_marked() -> None:
    rows = tuple(Row(kind, kind, 1, 1, 1.0, agreement=DISAGREES) for kind in ("python", "compiled"))
    assert str(Comparison("f", rows)).count("DISAGREES") == 2


def test_an_annotated_source_stands_below_everything_else() -> None:
    report = Report("In[3]", comparisons=(LOGIT,), notes=("a note",), cached=True, views=(_View(),))
    assert str(report).endswith("In[3]: from cache in 0 ns\n\n1 | x = <1>")
    page = report._repr_html_()
    assert page.endswith("</div><pre>1 | x = &lt;1&gt;</pre>")
    assert page.index("note: a note</div>") < page.index("<pre>")
    assert json.loads(report.to_json())["views"] == ["1 | x = <1>"]


def test_ratios_and_percentages_read_well() -> None:
    assert [spell_ratio(x) for x in (1.0, 0.5, 29.17, 1234)] == ["1x", "2.00x slower", "29.2x", "1,230x"]
    ranges = [(28.1, 31.0), (0.25, 0.5), (0.9, 1.2), (1111, 1289), (5.02, 5.04)]
    assert [spell_ratio_range(*ends) for ends in ranges] == ["28-31", "2-4", "0.9-1.2", "1,110-1,290", "5"]
    assert [spell_percent(x) for x in (0, 0.001, 0.714, 1.3)] == ["0 %", "<1 %", "71 %", "130 %"]


def test_what_threads_were_compared_on_is_not_counted_as_checked() -> None:
    alone = Row("ufunc, 1 thread", "ufunc", 10, 10, 1.0, agreement=Agreement(True, 0.0, compared=3))
    both = Row("ufunc, 2 threads", "parallel", 10, 10, 1.0, agreement=Agreement(True, 0.0, compared=10))
    assert "(3 checked)" in str(Comparison("f", (alone, both)))


# ------------------------------------------------------------------------------------- over sizes


LEVELS = (Level("L1d", 48 << 10, 3_072), Level("L2", 1 << 20, 65_536), Level("L3", 32 << 20, 99_999_999))


def _over(*sizes: int, labels: tuple[str, ...] = ("Python loop", "ufunc")) -> tuple[Row, ...]:
    kinds = ("python", "ufunc", "numpy", "other", "other", "other")
    cost = {label: (1.5e-7 * 0.01**n, 3e-7) for n, label in enumerate(labels)}
    return tuple(
        Row(label, kind, size, size, size * cost[label][0] + cost[label][1], 0.04)
        for size in sizes
        for label, kind in zip(labels, kinds, strict=False)
    )


OVER = Comparison("wave", _over(10, 1_000, 100_000), "d->d", ("a note",), LEVELS)


def test_a_comparison_over_sizes_has_a_line_for_each_size() -> None:
    expected = """\
wave  d->d
  10 to 100,000 elements; results not checked; time per element
                    Python loop    ufunc
  10 elements            180 ns  31.5 ns
  1,000 elements         150 ns  1.80 ns
  100,000 elements       150 ns  1.50 ns
  caches are full at 3,072 (L1d), 65,536 (L2), 99,999,999 (L3)
  note: a note"""
    assert str(OVER) == expected


def test_a_row_that_disagrees_at_a_size_has_no_time_and_no_line_there() -> None:
    rows = [*OVER.rows, Row("wrong", "other", 10, 10, 1e-7, agreement=DISAGREES)]
    text = str(Comparison("wave", tuple(rows)))
    assert re.search(r"(?m)^ +10 elements .* DISAGREES$", text)
    assert "wrong: DISAGREES at (0.5, 2.0) is nan" in text
    assert [line.label for line in make_lines(rows)] == ["Python loop", "ufunc"]


def test_many_ways_are_shown_in_blocks_that_keep_to_the_width() -> None:
    labels = tuple(f"a way of computing, number {n}" for n in range(6))
    lines = str(Comparison("f", _over(1, 2, 3, labels=labels))).split("\n")
    assert max(map(len, lines)) <= 80
    assert sum(line.strip().startswith("a way") for line in lines) == 2


def test_the_picture_says_what_it_shows_to_those_who_do_not_see_it() -> None:
    reader = _read(OVER.to_svg())
    root = next(attrs for tag, attrs in reader.tags if tag == "svg")
    ids = [attrs["id"] for tag, attrs in reader.tags if tag in ("title", "desc") and "id" in attrs]
    assert root["role"] == "img"
    assert (root["aria-labelledby"] or "").split() == ids
    assert (
        "Python loop: 180 ns at 10 elements, 150 ns at 100,000. ufunc: 31.5 ns at 10 elements, 1.50 ns at 100,000."
        in OVER.to_svg()
    )


def test_lines_differ_in_more_than_their_colour() -> None:
    svg = write_figure(_over(1, 10, 100, labels=tuple("abcdef")), title="f")
    curves = re.findall(r'stroke="(#\w+)" stroke-width="2" fill="none"(?: stroke-dasharray="([\d ]+)")?', svg)
    assert [len({color for color, _ in curves}), len({dashes for _, dashes in curves})] == [6, 6]
    assert re.findall(r">([a-f])</text>", svg) == list("abcdef")


def test_each_way_of_computing_has_one_colour_in_tables_and_curves() -> None:
    rows = _over(1, 10, 100, labels=("loop", "f", "NumPy", "a", "b", "c"))
    colors = choose_colors(rows)
    assert len(set(colors.values())) == 6
    assert colors["f"] == COLORS["ufunc"] == choose_colors(LOGIT.rows)["ufunc, 1 thread"]
    svg = write_figure(rows, title="f")
    assert re.findall(r'stroke="(#\w+)" stroke-width="2"', svg) == list(colors.values())


@pytest.mark.parametrize("label", ["NumPy", "W" * 26, "i", "a way of computing with a long name"])
def test_labels_have_room_at_the_end_of_their_lines(label: str) -> None:
    svg = write_figure(_over(1, 10, 100, labels=(label, "C")), title="f")
    ends = [(float(x), words) for x, words in re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="start">([^<]+)<', svg)]
    assert len(ends) == 2
    assert max(x + 7.5 * len(words) for x, words in ends) <= 724


def test_only_caches_between_the_sizes_are_marked() -> None:
    marked = re.findall(r">(L\d?d?[^<]*)</text>", OVER.to_svg())
    assert marked == ["L1d 48 kB", "L2 1 MB"]


def test_labels_of_lines_that_end_together_do_not_overlap() -> None:
    rows = [Row(label, "other", size, size, size * 1e-9) for size in (1, 10, 100) for label in "abcdefgh"]
    heights = sorted(
        float(y) for y in re.findall(r'y="([\d.]+)" text-anchor="start">[a-h]<', write_figure(rows, title="f"))
    )
    assert len(heights) == 8
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 14
    assert (min(heights) > 0, max(heights) < 380) == (True, True)


@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.floats(1e-10, 10), st.floats(0, 5)), min_size=3, max_size=20),
    st.text(min_size=1, max_size=60),
)
def test_any_measurements_give_a_picture_with_everything_inside(
    points: list[tuple[int, float, float]], label: str
) -> None:
    rows = [Row(label, "other", size, size, seconds, spread) for size, seconds, spread in points]
    if not is_drawable(rows):
        return
    svg = _read(write_figure(rows, title=label))
    for tag, attrs in svg.tags:
        if tag == "text":
            assert 0 <= float(attrs["x"] or "nan") <= 720
            assert 0 <= float(attrs["y"] or "nan") <= 380


def test_inside_a_page_the_picture_takes_the_colours_of_the_page() -> None:
    inside, alone = OVER._repr_html_(), OVER.to_svg()
    assert "<style" not in inside
    assert 'fill="currentColor"' in inside
    assert "prefers-color-scheme:dark" in alone
    assert "background:#ffffff" in alone


def test_two_pictures_of_one_page_have_ids_of_their_own() -> None:
    page = Report("x", comparisons=(OVER, Comparison("other", _over(1, 2, 5))))._repr_html_()
    ids = re.findall(r' id="(\w+)"', page)
    assert len(ids) == len(set(ids)) == 4
    _read(page)


def test_the_bundle_has_a_picture_only_where_there_are_sizes_and_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    # No SVG beside the HTML that holds it: LaTeX export would call Inkscape for it, and fail where that is missing.
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    assert sorted(OVER._repr_mimebundle_()) == ["text/html", "text/plain"]
    if MATPLOTLIB:
        importlib.import_module("matplotlib")
        assert sorted(OVER._repr_mimebundle_()) == ["image/png", "text/html", "text/plain"]
        assert sorted(Report("x", comparisons=(OVER,))._repr_mimebundle_()) == ["image/png", "text/html", "text/plain"]
    assert sorted(LOGIT._repr_mimebundle_()) == ["text/html", "text/plain"]


@pytest.mark.skipif(not MATPLOTLIB, reason="Matplotlib is not installed")
def test_the_picture_for_paper_is_a_png_and_touches_no_figure_of_the_user() -> None:
    from matplotlib import pyplot

    assert base64.b64decode(OVER._repr_mimebundle_()["image/png"]).startswith(b"\x89PNG")
    assert pyplot.get_fignums() == []


def test_the_numbers_of_a_picture_are_a_table_with_headers() -> None:
    reader = _read(OVER._repr_html_())
    scopes = [attrs["scope"] for tag, attrs in reader.tags if tag == "th"]
    assert scopes == ["col"] * 3 + ["row"] * 3
    assert [attrs["aria-label"] for tag, attrs in reader.tags if tag == "table"] == ["wave: time per element"]
    assert [row[0].strip() for row in reader.rows] == ["elements", "10", "1,000", "100,000"]
    heads = [attrs["style"] or "" for tag, attrs in reader.tags if tag == "th" and attrs["scope"] == "col"]
    assert all(head.rfind("vertical-align:bottom") > head.rfind("vertical-align:top") for head in heads)


def test_compilers_messages_have_a_bar_in_the_page() -> None:
    page = REPORT._repr_html_()
    assert re.search(r"border-left:\d+px solid #\w+[^>]*>In\[3\]:4:8: ", page)
    assert page.count("border-left:") == 1
