"""The keyword arguments of functions that compile.  Type checkers read ``option_keywords.pyi`` instead."""

from typing import TypedDict

from .options import KEYWORD_TYPES

OptionKeywords = TypedDict("OptionKeywords", KEYWORD_TYPES, total=False)
