"""Which machine a figure comes from."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path


def describe(*packages: str) -> dict[str, object]:
    """CPU, cores, compiler, Python and package versions, as they are now."""
    cpu = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    versions = {}
    for package in ("numpy", *packages):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    compiler = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False).stdout.partition("\n")[
        0
    ]
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": compiler,
        "packages": versions,
    }
