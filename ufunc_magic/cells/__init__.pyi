from .frontend import drawn_files as drawn_files
from .language import DeviceTime as DeviceTime, Language as Language, TextView as TextView
from .native import driver as driver, narrow as narrow, vector_math as vector_math
from .portable import Portable as Portable, is_first as is_first, stored_cell as stored_cell
