"""Make docs/report.png, the picture in the README: a cell and its report, as JupyterLab shows them to Chromium.

    python docs/picture.py        needs what tests/notebook/test_browser.py needs; writes docs/report.png

The figures in it are of the machine that it runs on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TEST = HERE.parent / "tests" / "notebook" / "test_browser.py"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # The run that makes the picture is the one that checks it.
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "", str(TEST), "-k", "lab and first_notebook"],
            cwd=HERE.parent,
            env={**os.environ, "UFUNC_MAGIC_ARTEFACTS": folder},
            check=True,
        )
        shutil.copy(Path(folder) / "lab-light-report.png", HERE / "report.png")


if __name__ == "__main__":
    main()
