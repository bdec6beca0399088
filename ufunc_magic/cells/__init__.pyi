from .frontend import Backend as Backend, drawn_files as drawn_files
from .native import driver as driver, narrow as narrow, vector_math as vector_math
from .portable import (
    Portable as Portable,
    is_first as is_first,
    stored_cell as stored_cell,
)
