"""What several tests need: compile into a cache, run a cell or a program, read a cell's file, set a clock.

``builds``     `compile_in`: a Build, compiled with the cache in a folder that outlives the test
``programs``   `run_python`: a program in another process; `run_bare`: one that finds no compiler; `wait_until`
``shells``     `run_cell`: a cell in a shell, the way a front end runs it; `open_kernel`: a Jupyter kernel
``names``      `replace_name`: a name of a room, replaced in its file and in the room
``cell_files`` the headers of the files in ``tests/cells``, and their expectations
``clocks``     `FakeClock`: a clock that the test sets
``comparisons`` `compare`: `um.compare` with a clock and limits that the test sets
``conformance_cells`` the same functions in each language
``code_lines`` lines of code; ``python tests/support/code_lines.py`` counts them by room

pytest has ``tests`` on its path (pyproject.toml), so tests write ``from support import compile_in``.
"""

from .builds import compile_in as compile_in
from .cell_files import (
    CELLS as CELLS,
    LANGUAGES as LANGUAGES,
    REPOSITORY as REPOSITORY,
    catch_message as catch_message,
    check_expectation as check_expectation,
    compile_file as compile_file,
    list_loops as list_loops,
    read_header as read_header,
)
from .clocks import FakeClock as FakeClock
from .comparisons import compare as compare
from .names import replace_name as replace_name
from .programs import (
    python_path as python_path,
    run_bare as run_bare,
    run_python as run_python,
    wait_until as wait_until,
)
from .shells import Kernel as Kernel, open_kernel as open_kernel, run_cell as run_cell
