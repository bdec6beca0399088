"""Messages between this process, the helper and what it forks: marshalled, each behind its length."""

from __future__ import annotations

import marshal
import socket
import struct
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct("<Q")


def send(link: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send a message, and descriptors of files with it."""
    data = marshal.dumps(message)
    head = _LENGTH.pack(len(data))
    if descriptors:
        socket.send_fds(link, [head], list(descriptors))
        head = b""
    link.sendall(head + data)


def receive(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """A message and the descriptors of files that came with it; None where the other end is gone."""
    head, descriptors, _, _ = socket.recv_fds(link, _LENGTH.size, 3, socket.MSG_WAITALL)
    if len(head) < _LENGTH.size:
        return None
    length = _LENGTH.unpack(head)[0]
    data = bytearray()
    while len(data) < length:
        part = link.recv(length - len(data), socket.MSG_WAITALL)
        if not part:
            return None
        data += part
    return marshal.loads(data), list(descriptors)
