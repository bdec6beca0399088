from .language_table import language as language, language_of as language_of
