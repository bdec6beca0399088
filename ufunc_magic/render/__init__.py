"""Reports, comparisons and other views of a cell as text, HTML, SVG and JSON.

The room turns measured and compiled values into text; it measures and prints nothing.

``tables``       rows of a comparison, numbers in words, tables
``figure``       time over sizes, drawn as SVG
``comparison``   `Comparison`: the table, its file, what changed since another one
``report``       `Report`: what a cell shows after it ran; the description of object code
``source_views`` assembly, vectorization remarks, generated C, by the lines of the cell; reads ``assembly``
``progress``     the progress line of a longer measurement
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .comparison import Comparison as Comparison, installed as installed, needed as needed
    from .progress import Progress as Progress
    from .report import Bound as Bound, Report as Report, contents as contents
    from .source_views import View as View, ViewName as ViewName, ptx as ptx, views as views
    from .tables import (
        Agreement as Agreement,
        Kind as Kind,
        Level as Level,
        Row as Row,
        agrees as agrees,
        count as count,
        duration as duration,
        percent as percent,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "comparison": "Comparison installed needed",
            "progress": "Progress",
            "report": "Bound Report contents",
            "source_views": "View ViewName ptx views",
            "tables": "Agreement Kind Level Row agrees count duration percent",
        },
    )
