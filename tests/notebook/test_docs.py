"""docs/options.md against the parsers, links between pages, and what the README has its readers paste."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from support import REPOSITORY
from ufunc_magic.model import TABLE, Option
from ufunc_magic.notebook import magics
from ufunc_magic.notebook.option_line import CACHE, COMPARE, CONFIG, HELP_FLAGS, SAVE, list_flags

CELL_FLAGS = list_flags(TABLE)
TEXT = (REPOSITORY / "docs" / "options.md").read_text(encoding="utf-8")
#: Heading -> what stands below it, down to the next.
SECTIONS = {
    part.partition("\n")[0]: part.partition("\n")[2] for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
}
LINES = ("%ufunc_config", "%ufunc_compare", "%ufunc_save", "%ufunc_cache", "%ufunc_doctor")


def first_column(text: str) -> list[str]:
    """Words in backticks in the first column of the tables of ``text``."""
    cells = re.findall(r"^\| (.*?) \|", text, flags=re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


def flags(text: str) -> list[str]:
    """Options that have a line in ``text``, without their values."""
    return [re.split(r"[ =\[]", word)[0] for word in first_column(text) if word.startswith("-")]


OF_CELLS = flags("".join(text for heading, text in SECTIONS.items() if heading not in LINES))


def test_every_option_of_a_cell_has_one_line_and_no_other_has() -> None:
    assert sorted(set(OF_CELLS)) == sorted({*CELL_FLAGS, *HELP_FLAGS})
    # --device and --arch are named once for each of their values.
    values = [
        len(option.choices) for option in TABLE for flag in option.flags if flag in ("--arch", "--device", "--abi")
    ]
    assert len(OF_CELLS) == len(set(OF_CELLS)) + sum(values) - len(values)


@pytest.mark.parametrize("option", [o for o in TABLE if o.choices], ids=lambda o: o.flags[0])
def test_every_choice_of_an_option_is_named(option: Option) -> None:
    [row] = [line for line in TEXT.splitlines() if line.startswith(f"| `{option.flags[0]} ")]
    assert [word for word in option.choices if word not in row] == []


@pytest.mark.parametrize("option", [o for o in TABLE if o.languages], ids=lambda o: o.flags[0])
def test_the_cells_that_an_option_is_for_are_named(option: Option) -> None:
    [row] = [line for line in TEXT.splitlines() if re.match(rf"\| `{option.flags[0]}[` ]", line)]
    named = {"C": "c", "Cython": "cython", "CUDA": "cuda"}
    assert [named[word] for word in row.split(" | ")[1].split(", ")] == list(option.languages)


@pytest.mark.parametrize(
    ("magic", "table"),
    [
        ("%ufunc_config", CONFIG[len(TABLE) :]),
        ("%ufunc_cache", CACHE),
        ("%ufunc_compare", COMPARE),
        ("%ufunc_save", SAVE),
    ],
)
def test_every_option_of_a_line_magic_has_one_line_and_no_other_has(magic: str, table: tuple[Option, ...]) -> None:
    assert sorted({*flags(SECTIONS[magic])} - {*HELP_FLAGS}) == sorted(list_flags(table))


@pytest.mark.parametrize("magic", ["%ufunc_config", "%ufunc_cache", "%ufunc_doctor"])
def test_every_option_of_a_line_is_one_that_the_magics_read(magic: str, loaded: InteractiveShell) -> None:
    for word in flags(SECTIONS[magic]):
        loaded.run_line_magic(magic[1:], f"{word} 1000" if word == "--prune" else word)


def test_options_in_examples_exist() -> None:
    lines = re.findall(
        r"^%%\w+(.*)$", TEXT + (REPOSITORY / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    used = {re.split(r"[ =]", word)[0] for line in lines for word in re.findall(r"(?<= )-\S+", line)}
    assert used - set(CELL_FLAGS) == set()


def test_every_environment_variable_of_ours_has_a_line() -> None:
    package = Path(magics.__file__).parents[1]
    found = {
        name
        for path in package.rglob("*.py")
        for name in re.findall(r"\bUFUNC_MAGIC_[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }
    said = [word for word in first_column(SECTIONS["Environment variables"]) if word.startswith("UFUNC_MAGIC_")]
    assert sorted(said) == sorted(found)


PAGES = [
    REPOSITORY / "README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "docs" / "howto").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#:]+)\)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.slow
@pytest.mark.cython
def test_cells_of_the_readme_run_when_pasted_in_order(shell: InteractiveShell) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    # Every second fence closes a block.
    cells = [block.partition("\n")[2] for block in text.split("```")[1::2] if block.startswith("\n")]
    assert len(cells) == 7
    for cell in cells:
        done = shell.run_cell(cell, store_history=True)
        done.raise_error()
    assert done.result.shape == (7,)


def test_pages_say_in_the_same_words_what_is_contained() -> None:
    pages = [REPOSITORY / page for page in ("README.md", "docs/cython.md", "docs/reliability.md")]
    lines = [{line.strip() for line in page.read_text(encoding="utf-8").splitlines()} for page in pages]
    assert (
        len([line for line in set.intersection(*lines) if line.startswith(("Contained is", "Not contained is"))]) == 2
    )
