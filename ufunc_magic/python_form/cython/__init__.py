"""Cython functions as plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .cython_form import FormRequest as FormRequest, PythonForm as PythonForm, write as write
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cython_form": "PythonForm FormRequest write",
        },
    )
