"""Reports, comparisons and annotated sources as text, HTML, SVG and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .object_contents import contents as contents
    from .progress import (
        Bar as Bar,
        Notebook as Notebook,
        Progress as Progress,
        Surface as Surface,
        Terminal as Terminal,
    )
    from .report import (
        FORMAT as FORMAT,
        BoundPlain as BoundPlain,
        BoundUfunc as BoundUfunc,
        Comparison as Comparison,
        Report as Report,
    )
    from .rows import Agreement as Agreement, Kind as Kind, Level as Level, Row as Row, agrees as agrees
    from .source_views import views as views
    from .tables import (
        Cells as Cells,
        count as count,
        duration as duration,
        escape as escape,
        html_heads as html_heads,
        html_row as html_row,
        percent as percent,
        ratio as ratio,
        text_table as text_table,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "object_contents": "contents",
            "progress": "Bar Notebook Progress Surface Terminal",
            "report": "BoundPlain BoundUfunc Comparison FORMAT Report",
            "rows": "Agreement Kind Level Row agrees",
            "source_views": "views",
            "tables": "Cells count duration escape html_heads html_row percent ratio text_table",
        },
    )
