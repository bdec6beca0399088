from .comparison import Comparison as Comparison, installed as installed, needed as needed
from .progress import Progress as Progress
from .report import Bound as Bound, Report as Report, contents as contents
from .source_views import View as View, ViewName as ViewName, views as views
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
