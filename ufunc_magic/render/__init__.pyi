from .comparison import Comparison as Comparison
from .optional_packages import import_optional as import_optional, import_required as import_required
from .progress import Progress as Progress
from .report import Bound as Bound, Report as Report, describe_contents as describe_contents
from .source_views import (
    View as View,
    ViewName as ViewName,
    make_source_views as make_source_views,
    read_loops as read_loops,
)
from .tables import (
    Agreement as Agreement,
    Kind as Kind,
    Level as Level,
    Row as Row,
    agrees as agrees,
    count as count,
    spell_duration as spell_duration,
    spell_percent as spell_percent,
    spell_ratio as spell_ratio,
)
from .vectorization import ANY_ORDER as ANY_ORDER, LoopReport as LoopReport, has_loop as has_loop
