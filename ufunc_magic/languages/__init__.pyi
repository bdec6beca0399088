from .language_table import find_language as find_language, get_language as get_language
