from .guard_process import is_available as is_available
from .process_copy import call_in_copy as call_in_copy, can_copy as can_copy
from .sandbox import Sandbox as Sandbox
from .trial import begin as begin, try_out as try_out, write_untried_note as write_untried_note
