from .candidates import evaluate as evaluate
from .cell_report import find_reference as find_reference, read_data as read_data, report as report
from .comparing import compare as compare, compare_request as compare_request, make_request as make_request
from .confirming import call_for_a_while as call_for_a_while, confirm as confirm, draw_inputs_again as draw_inputs_again
from .loop_reports import LoopReports as LoopReports
from .machine import load_limits as load_limits
from .rounds import CLOCK as CLOCK
from .verdict import Verdict as Verdict, judge_report as judge_report, overrule as overrule
