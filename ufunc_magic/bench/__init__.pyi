from .candidates import evaluated as evaluated
from .cell_report import report as report
from .comparing import compare as compare
from .rounds import CLOCK as CLOCK
