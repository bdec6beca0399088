"""Cells in a shell of IPython, and in a Jupyter kernel."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from .programs import python_path


def run_cell(shell: InteractiveShell, magic: str, source: str, line: str = "", **keywords: Any) -> Any:
    """Run one cell the way a front end does; return its value or raise its error."""
    result = shell.run_cell(f"%%{magic} {line}\n{source}", store_history=True, **keywords)
    result.raise_error()
    return result.result


@dataclass(frozen=True)
class Execution:
    """The messages of one execution in a kernel."""

    messages: list[dict[str, Any]]

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] in kinds]

    @property
    def error(self) -> dict[str, Any] | None:
        return next(iter(self.of("error")), None)

    @property
    def data(self) -> dict[str, Any]:
        """Each form of the last thing that was shown."""
        data: dict[str, Any] = self.of("execute_result", "display_data", "update_display_data")[-1]["data"]
        return data

    def text(self, stream: str) -> str:
        return "".join(m["text"] for m in self.of("stream") if m["name"] == stream)


class Kernel:
    """A Jupyter kernel of this Python, and what its front end would receive."""

    def __init__(self, folder: Path, **environment: str) -> None:
        from jupyter_client import KernelManager

        self.manager = KernelManager()
        self.manager.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        # ipykernel leaves file descriptors alone where it sees pytest.
        own = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
        self.manager.start_kernel(cwd=str(folder), env={**own, "PYTHONPATH": python_path(), **environment})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=300)

    def run(self, code: str, *, cell_id: str = "") -> Execution:
        """Run code up to the moment the kernel says it is idle; front ends stop there."""
        message = self.client.session.msg(
            "execute_request",
            {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False},
            metadata={"cellId": cell_id} if cell_id else {},
        )
        self.client.shell_channel.send(message)
        received: list[dict[str, Any]] = []
        while True:
            try:
                answer = self.client.get_iopub_msg(timeout=300)
            except Empty:
                raise AssertionError(f"the kernel never became idle after {code!r}") from None
            if answer["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
                return Execution(received)
            received.append({"type": answer["msg_type"], **answer["content"]})

    def stdout(self, code: str) -> str:
        execution = self.run(code)
        assert execution.error is None
        return execution.text("stdout")

    def value(self, code: str) -> str:
        (result,) = self.run(code).of("execute_result")
        return str(result["data"]["text/plain"])

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@contextlib.contextmanager
def open_kernel(folder: Path, **environment: str) -> Iterator[Kernel]:
    """A kernel in ``folder`` with the extension and NumPy; ``environment`` is added to this process's.

    What it remembers (``%ufunc_config``) is in ``folder`` too, not among the user's files.
    """
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (extra: test)")
    with warnings.catch_warnings():
        # jupyter_client, pyzmq and tornado warn about event loops and paths on some platforms.
        warnings.simplefilter("ignore")
        kernel = Kernel(folder, **{"IPYTHONDIR": str(folder / "ipython"), **environment})
        kernel.run("%load_ext ufunc_magic\nimport numpy as np")
        yield kernel
        kernel.close()
