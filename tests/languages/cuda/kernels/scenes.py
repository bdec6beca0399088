"""Scenes of the programs in this folder: functions whose results the program prints as JSON.

Those programs choose how Numba is imported, so nothing here imports the package.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

SCENES: dict[str, Callable[[], Any]] = {}


def scene(function: Callable[[], Any]) -> Callable[[], Any]:
    """Register a function whose result the program prints under its name."""
    SCENES[function.__name__] = function
    return function


def catch_fault(call: Callable[[], object]) -> str:
    """The type and message of the exception that a call raises, or an empty text."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - tests compare the text of whichever it is
        return f"{type(error).__name__}: {error}"
    return ""


def print_scenes() -> None:
    """Run every scene and print the results; a scene that fails has its traceback as its result."""
    results = {}
    for name, function in SCENES.items():
        try:
            results[name] = function()
        except Exception:  # noqa: BLE001 - one scene's fault is not another's
            results[name] = traceback.format_exc()
    sys.stdout.write(json.dumps(results))
