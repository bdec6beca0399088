"""The site: ``sphinx-build -W --keep-going docs docs/_build/html`` in an environment with the extra ``docs``."""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.metadata import version as installed
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
sys.path.insert(0, str(HERE / "_ext"))


def saved_outputs(path: Path) -> bool:
    """Whether a notebook is saved with outputs."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return any(cell.get("outputs") for cell in cells)


project = "ufunc_magic"
author = "ufunc_magic contributors"
version = release = installed("ufunc_magic")
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "benchmark_results",
    "cell_lexer",
    "messages",
    "options_table",
    "platforms",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
highlight_language = "cell"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# A page that does not run is no page.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_cache_path = str(HERE / "_build" / "jupyter_cache")
nb_execution_timeout = 300
nb_merge_streams = True
# Notebooks that are saved with outputs show those; the others are run.  DOCS_QUICK=1, for writers, runs none.
quick = bool(os.environ.get("DOCS_QUICK"))
nb_execution_excludepatterns = [
    f"examples/{path.name}" for path in EXAMPLES.glob("*.ipynb") if quick or saved_outputs(path)
]
# What takes a hundred million elements is run with fewer.
os.environ.setdefault("UFUNC_MAGIC_EXAMPLE_SIZE", "3_000_000")

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"ufunc_magic {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "start": [], "benchmarks": [], "changelog": []}
html_theme_options = {
    "logo": {"text": "ufunc_magic"},
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = "ufunc_magic contributors, MIT license"  # the name that Sphinx reads

copybutton_exclude = ".linenos, .gp, .go"


def copy_examples(app: Sphinx, config: Config) -> None:
    """Put the notebooks where Sphinx reads them; a file that has not changed stays, so that it is not run again."""
    target = HERE / "examples"
    target.mkdir(exist_ok=True)
    sources = {path.name: path for path in EXAMPLES.glob("*.ipynb")}
    for old in target.iterdir():
        if old.is_file() and old.name not in sources:
            old.unlink()
    for name, path in sources.items():
        if not (target / name).exists() or (target / name).read_bytes() != path.read_bytes():
            shutil.copyfile(path, target / name)


def setup(app: Sphinx) -> None:
    app.connect("config-inited", copy_examples)
