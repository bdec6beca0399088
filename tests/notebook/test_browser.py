"""Example notebooks and the editor's cells in a real browser: JupyterLab and Notebook 7, light and dark, in Chromium.

Screenshots are kept in the folder that ``UFUNC_MAGIC_ARTEFACTS`` names, or with pytest's temporary files.  What is
needed besides the tests' own packages: ``pip install playwright jupyterlab notebook``, and Chromium
(``apt-get install chromium``).
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from support import REPOSITORY

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MISSING = [name for name in ("playwright", "jupyterlab", "notebook") if not importlib.util.find_spec(name)]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    # tornado and playwright leave sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

#: Seconds for a notebook to open or to run, on a busy machine.
PATIENCE = 120
FRONT_ENDS = {"lab": ("jupyterlab", "lab/tree"), "notebook": ("notebook", "notebooks")}
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}

#: The contrast (WCAG 2.2, 1.4.3) of an element's text with what is painted behind it.
CONTRAST = """element => {
    const parts = text => (text.match(/[\\d.]+/g) || []).map(Number);
    const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    let behind = element, back = [255, 255, 255];
    for (; behind; behind = behind.parentElement) {
        const found = parts(getComputedStyle(behind).backgroundColor);
        if (found.length === 3 || found[3] === 1) { back = found; break; }
    }
    const style = getComputedStyle(element);
    const front = parts(element instanceof SVGElement ? style.fill : style.color);
    const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}"""

#: Every code cell has run: none waits, and the last one has its number.
DONE = """() => {
    const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map(p => p.innerText);
    return prompts.length > 0 && prompts.every(p => /\\[\\d+\\]/.test(p));
}"""

#: The colour in which the editor shows the first ``word`` on a line.
COLOUR = """([line, word]) => {
    const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    let rest = line.textContent.indexOf(word);
    if (rest < 0) throw Error(`no ${word} in ${line.textContent}`);
    for (let node; (node = texts.nextNode()); rest -= node.length)
        if (rest < node.length) return getComputedStyle(node.parentElement).color;
}"""

METADATA = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
#: What the editor shows in cells of each language.
CELLS = {
    "python": "%load_ext ufunc_magic\n# a and b in c\ndef f(): return 'text'",
    "c": "%%c_ufunc -q\n// a and b in c\ndouble twice(double x) { return 2 * x; }",
    "c++": "%%c_ufunc -q -+\n// a and b in c\ntemplate <class A> A thrice(A x) { return 3 * x; }",
    "cuda": "%%cuda_device -q\n// a and b in c\n__device__ float halve(float x) { return x / 2; }",
    "cython": "%%cython_ufunc -q\n# a and b in c\ncdef double one(double x) noexcept nogil: return x",
    "wrong": "%%c_ufunc -q\ndouble area(double radius) {\n    /* \u03c0 */ return 3.14 * raduis * radius;\n}",
    "new": "",
}


@dataclass(frozen=True)
class Server:
    """A running Jupyter server and the page that opens a notebook in it."""

    port: int
    token: str
    path: str

    def url(self, notebook: str) -> str:
        # Without "reset", JupyterLab opens what an earlier page had open as well.
        return f"http://127.0.0.1:{self.port}/{self.path}/{notebook}?reset&token={self.token}"


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots are kept."""
    named = os.environ.get("UFUNC_MAGIC_ARTEFACTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module", params=list(FRONT_ENDS))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab, then Notebook 7, in a folder with copies of the examples and settings of its own."""
    folder = tmp_path_factory.mktemp(request.param)
    for path in (REPOSITORY / "examples").glob("*.ipynb"):
        shutil.copy(path, folder)
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS.values()]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=METADATA), folder / "cells.ipynb")
    settings = folder / "settings" / "@jupyterlab"
    # All cells are in the page, also those that are not in view; and no window covers them.
    for place, text in {
        "notebook-extension/tracker": '{"windowingMode": "none"}',
        "apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
    }.items():
        (settings / place).parent.mkdir(parents=True)
        (settings / f"{place}.jupyterlab-settings").write_text(text)
    module, path = FRONT_ENDS[request.param]
    with running(module, folder) as (port, token):
        yield Server(port, token, path)


@contextmanager
def running(module: str, folder: Path) -> Iterator[tuple[int, str]]:
    """A Jupyter server in ``folder``, with an IPython, a Jupyter and a cache of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(8)
    own = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "UFUNC_MAGIC_CACHE")
    environment = {
        **os.environ,
        **{name: str(folder / name.lower()) for name in own},
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "PYTHONPATH": str(REPOSITORY),
    }
    command = [sys.executable, "-m", module, "--no-browser", "--allow-root", "--expose-app-in-browser"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]
    with open(folder / "server.log", "wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", process, folder / "server.log")
        yield port, token
    finally:
        with urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{port}/api/shutdown?token={token}", method="POST"), timeout=300
        ):
            pass
        try:
            process.wait(300)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"the server does not answer:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@contextmanager
def opened(browser: Any, server: Server, notebook: str, *, run: bool = True) -> Iterator[Any]:
    """The page of a notebook, in which every cell has run unless ``run`` is false."""
    context = browser.new_context(viewport={"width": 1200, "height": 1000}, device_scale_factor=1.5)
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    try:
        page.goto(server.url(notebook))
        page.wait_for_selector(".jp-CodeCell")
        page.wait_for_function("path => window.jupyterapp?.shell?.currentWidget?.context?.path === path", arg=notebook)
        # The notebook is there before its kernel is.
        page.evaluate(
            """async () => {
                const panel = window.jupyterapp.shell.currentWidget;
                await panel.context.ready;
                await panel.sessionContext.ready;
            }"""
        )
        if not run:
            # The editor colours its text a moment after it shows it.
            page.wait_for_function(
                """() => [...document.querySelectorAll('.jp-CodeCell .cm-content')].every(
                    editor => !editor.textContent.trim() || editor.children[1]?.querySelector('span')
                )"""
            )
            yield page
            return
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        # The command ends when the cells have run; after an error that no tag expects, those below it have not.
        if not page.evaluate(DONE):
            page.wait_for_timeout(2_000)
        broken = page.locator(
            ".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']"
        ).all_inner_texts()
        assert page.evaluate(DONE), f"{notebook} did not run to its end: {broken}"
        yield page
    finally:
        context.close()


def set_theme(page: Any, theme: str) -> None:
    page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", THEMES[theme])
    light = "true" if theme == "light" else "false"
    page.wait_for_selector(f"body[data-jp-theme-light={light}]", state="attached")


def cell_with(page: Any, text: str) -> Any:
    return page.locator(".jp-CodeCell").filter(has=page.locator(".jp-InputArea", has_text=text)).first


def kept(cell: Any, path: Path) -> None:
    cell.scroll_into_view_if_needed()
    cell.screenshot(path=path)


def front_end(server: Server) -> str:
    return next(name for name, (_, path) in FRONT_ENDS.items() if path == server.path)


def test_the_first_notebook_shows_its_table_and_its_error_in_both_themes(
    browser: Any, server: Server, artefacts: Path
) -> None:
    with opened(browser, server, "01_first_ufunc.ipynb") as page:
        report, wrong = cell_with(page, "double planck"), cell_with(page, "raduis")
        table = report.locator(".jp-OutputArea table")
        labels = table.locator("tbody th[scope=row]").all_inner_texts()
        assert labels[0].startswith("Python loop")
        assert any(label.startswith("ufunc") for label in labels)
        heads = table.locator("thead th[scope=col]").all_inner_texts()
        assert heads == ["longer is faster", "time", "per element", "speed-up", "range"]
        assert "results" in report.locator(".jp-OutputArea").inner_text()
        assert table.locator("div[aria-hidden=true]").count() == len(labels)  # the bars
        page.set_viewport_size({"width": 400, "height": 900})
        assert table.evaluate("table => table.scrollWidth - table.parentElement.clientWidth") <= 8
        page.set_viewport_size({"width": 1200, "height": 1000})

        shown = wrong.locator(".jp-OutputArea").inner_text()
        assert "CompileError" in shown
        assert "raduis" in shown
        assert "Traceback" not in shown

        for theme in THEMES:
            set_theme(page, theme)
            for words in (
                table.locator("tbody th[scope=row]").first,
                report.locator(".jp-OutputArea strong").first,
                table.locator("thead th").first,
            ):
                assert words.evaluate(CONTRAST) >= 4.5
            for name, cell in {"report": report, "error": wrong}.items():
                kept(cell, artefacts / f"{front_end(server)}-{theme}-{name}.png")


def test_the_comparison_is_drawn_and_readable_in_both_themes(browser: Any, server: Server, artefacts: Path) -> None:
    with opened(browser, server, "03_options.ipynb") as page:
        cell = cell_with(page, "over_sizes")
        picture = cell.locator(".jp-OutputArea svg[role=img]").first
        assert "time per element over sizes" in picture.locator("title").first.text_content()
        assert "Both axes are logarithmic" in picture.locator("desc").first.text_content()
        box = picture.bounding_box()
        assert box["width"] > 400
        assert box["height"] > 200
        for theme in THEMES:
            set_theme(page, theme)
            assert min(text.evaluate(CONTRAST) for text in picture.locator("text").all()) >= 4.5
            kept(cell, artefacts / f"{front_end(server)}-{theme}-plot.png")


def editor(page: Any, cell: str) -> Any:
    return page.locator(".jp-CodeCell .cm-content").nth(list(CELLS).index(cell))


def colour(editor: Any, line: int, word: str) -> str:
    """The colour of a word on a line of the editor, which counts from 1."""
    return editor.evaluate(
        f"(content, [line, word]) => ({COLOUR})([content.querySelectorAll('.cm-line')[line - 1], word])", [line, word]
    )


def enter(page: Any, editor: Any, text: str) -> None:
    """Replace the text of an editor, key by key."""
    editor.click()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def run_cell(page: Any, cell: str) -> None:
    """Run a cell and wait for its end."""
    page.evaluate(
        """async index => {
            window.jupyterapp.shell.currentWidget.content.activeCellIndex = index;
            await window.jupyterapp.commands.execute('notebook:run-cell');
        }""",
        list(CELLS).index(cell),
    )


def test_cells_have_the_colours_of_their_language(browser: Any, server: Server, artefacts: Path) -> None:
    with opened(browser, server, "cells.ipynb", run=False) as page:
        for theme in THEMES:
            set_theme(page, theme)
            python = editor(page, "python")
            keyword, comment = colour(python, 3, "def"), colour(python, 2, "and")
            plain = colour(python, 3, "()")
            assert len({keyword, comment, plain}) == 3
            for cell, (word, type_name) in {
                "c": ("return", "double"),
                "c++": ("template", "A thrice"),
                "cuda": ("__device__", "float"),
                "cython": ("cdef", "double"),
            }.items():
                text = editor(page, cell)
                text.evaluate("content => content.scrollIntoView()")
                assert colour(text, 3, word) == keyword, cell
                # As Python, a comment of C has keywords in it.
                assert {colour(text, 2, part) for part in ("a ", "and", "in")} == {comment}, cell
                assert colour(text, 3, type_name) not in (plain, comment, keyword), cell
            assert colour(editor(page, "c"), 1, "c_ufunc") == colour(python, 1, "load_ext")
            page.screenshot(path=artefacts / f"{front_end(server)}-{theme}-cells.png")


def test_the_language_of_a_typed_cell_follows_its_first_line(browser: Any, server: Server) -> None:
    with opened(browser, server, "cells.ipynb", run=False) as page:
        text, python = editor(page, "new"), editor(page, "python")
        comment = colour(python, 2, "and")
        enter(page, text, "%%c_ufunc -q\n// this and that")
        text.locator(".cm-line").nth(1).wait_for()
        page.wait_for_timeout(300)
        assert colour(text, 2, "and") == comment
        page.keyboard.press("Control+Home")
        page.keyboard.press("Delete")
        page.wait_for_timeout(300)
        assert colour(text, 2, "and") == colour(python, 3, "def")
        page.keyboard.type("%")
        page.wait_for_timeout(300)
        assert colour(text, 2, "and") == comment


def test_lines_are_commented_in_their_language(browser: Any, server: Server) -> None:
    with opened(browser, server, "cells.ipynb", run=False) as page:
        text = editor(page, "new")
        for first, line, commented in (
            ("%%c_ufunc", "int a;", "// int a;"),
            ("%%c_ufunc --cplus", "int a;", "// int a;"),
            ("%%cuda_device", "int a;", "// int a;"),
            ("%%cython_ufunc", "a = 1", "# a = 1"),
            ("%%time", "a = 1", "# a = 1"),
        ):
            enter(page, text, f"{first}\n{line}")
            page.keyboard.press("Control+/")
            assert text.locator(".cm-line").all_inner_texts() == [first, commented]
            page.keyboard.press("Control+/")
            assert text.locator(".cm-line").all_inner_texts() == [first, line]


def test_c_is_indented_and_its_brackets_are_matched(browser: Any, server: Server) -> None:
    with opened(browser, server, "cells.ipynb", run=False) as page:
        text = editor(page, "new")
        enter(page, text, "%%c_ufunc\nint f(int a) {\nif (a) {\nreturn 1;\n}\nreturn 2;\n}")
        lines = text.locator(".cm-line").all_inner_texts()
        assert lines == [
            "%%c_ufunc",
            "int f(int a) {",
            "    if (a) {",
            "        return 1;",
            "    }",
            "    return 2;",
            "}",
        ]
        brackets = text.locator(".cm-matchingBracket")
        assert brackets.all_inner_texts() == ["{", "}"]


def test_errors_are_marked_on_their_line_until_the_next_edit_or_run(
    browser: Any, server: Server, artefacts: Path
) -> None:
    with opened(browser, server, "cells.ipynb", run=False) as page:
        run_cell(page, "python")
        run_cell(page, "wrong")
        text = editor(page, "wrong")
        word = text.locator(".ufm-error")
        word.wait_for()
        assert word.all_inner_texts() == ["raduis"]
        assert "wavy" in word.evaluate(
            "word => getComputedStyle(word).textDecorationLine + ' ' + getComputedStyle(word).textDecorationStyle"
        )
        line_classes = [line.get_attribute("class") for line in text.locator(".cm-line").all()]
        assert [number for number, names in enumerate(line_classes, 1) if "ufm-line-error" in names] == [3]
        # The marks come in an output that shows nothing.
        assert page.locator(".ufm-error").count() == 1

        word.hover()
        tooltip = page.locator(".cm-tooltip .ufm-messages")
        tooltip.wait_for()
        assert tooltip.inner_text().startswith("error: ")
        assert "raduis" in tooltip.inner_text()
        for theme in THEMES:
            set_theme(page, theme)
            word.hover()
            tooltip.wait_for()
            assert tooltip.evaluate(CONTRAST) >= 4.5
            page.screenshot(path=artefacts / f"{front_end(server)}-{theme}-marks.png")

        page.mouse.move(0, 0)  # the message would be in the way of the next click
        tooltip.wait_for(state="detached")
        run_cell(page, "wrong")  # the same again: marked again, once
        word.wait_for()
        assert word.count() == 1
        text.click()
        page.keyboard.press("Control+End")
        page.keyboard.type(" ")
        word.wait_for(state="detached")
        run_cell(page, "wrong")
        word.wait_for()
        source = CELLS["wrong"].replace("raduis", "radius")
        page.evaluate(
            "([index, source]) => window.jupyterapp.shell.currentWidget.content.widgets[index]"
            ".model.sharedModel.setSource(source)",
            [list(CELLS).index("wrong"), source],
        )
        word.wait_for(state="detached")
        run_cell(page, "wrong")
        assert page.locator(".ufm-error, .ufm-line-error").count() == 0


def test_a_wrong_option_is_marked_on_the_line_of_the_magic(browser: Any, server: Server) -> None:
    with opened(browser, server, "cells.ipynb", run=False) as page:
        run_cell(page, "python")
        text = editor(page, "new")
        enter(page, text, "%%c_ufunc --fast-maths\nint f(int a) { return a; }")
        run_cell(page, "new")
        text.locator(".ufm-error").first.wait_for()
        assert "ufm-line-error" in text.locator(".cm-line").first.get_attribute("class")
        assert text.locator(".ufm-line-error").count() == 1
