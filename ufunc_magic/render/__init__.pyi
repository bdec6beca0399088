from .comparison import Comparison as Comparison
from .optional_packages import import_optional as import_optional, import_required as import_required
from .progress import Progress as Progress
from .report import Bound as Bound, Report as Report, contents as contents
from .source_views import View as View, ViewName as ViewName, read_loops as read_loops, views as views
from .tables import (
    Agreement as Agreement,
    Kind as Kind,
    Level as Level,
    Row as Row,
    agrees as agrees,
    count as count,
    duration as duration,
    percent as percent,
    ratio as ratio,
)
from .vectorization import ANY_ORDER as ANY_ORDER, LoopReport as LoopReport, has_loop as has_loop
