"""Make docs/report.png, the picture in the README: a real report, as a notebook shows it.

    python docs/picture.py        needs Chromium; writes docs/report.png

The figures in it are of the machine that it runs on.
"""

from __future__ import annotations

import html
import shutil
import subprocess
import tempfile
from pathlib import Path

from ufunc_magic import build
from ufunc_magic.options import Options

CELL = """\
#include <math.h>
// Black and Scholes' price of a European call.
double call(double s, double k, double t, double r, double v) {
    double d = (log(s / k) + (r + v*v / 2) * t) / (v * sqrt(t));
    return s * erfc(-d * M_SQRT1_2) / 2
         - k * exp(-r * t) * erfc((v * sqrt(t) - d) * M_SQRT1_2) / 2;
}
double wave(double x) { return x < 0.5 ? 4*x + exp(-x) : log(x); }
"""


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        raise SystemExit("Chromium is not installed.")
    built = build.build(CELL, language="c", options=Options(), name="In[2]")
    report = build.report(built, options=Options())
    code = html.escape(f"%%c_ufunc\n{CELL}")
    page = (
        '<body style="font:14px sans-serif;margin:12px;background:white;color:#222">'
        '<pre style="background:#f5f5f5;border:1px solid #ddd;padding:8px;margin:0 0 8px">'
        f"{code}</pre>{report._repr_html_()}</body>"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "report.html"
        source.write_text(page, encoding="utf-8")
        subprocess.run(
            [
                chromium,
                *"--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking".split(),
                *"--disable-component-update --disable-sync --disable-quic --hide-scrollbars".split(),
                f"--user-data-dir={folder}/profile",
                "--force-device-scale-factor=1.5",
                "--window-size=1040,415",
                f"--screenshot={Path(__file__).with_name('report.png')}",
                source.as_uri(),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
