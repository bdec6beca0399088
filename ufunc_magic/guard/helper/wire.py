"""Messages between this process, the helper and its forks: the length, then the marshalled value."""

from __future__ import annotations

import marshal
import socket
import struct
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct("<Q")


def send(link: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send a message, with descriptors of files."""
    data = marshal.dumps(message)
    head = _LENGTH.pack(len(data))
    if descriptors:
        socket.send_fds(link, [head], list(descriptors))
        head = b""
    link.sendall(head + data)


def receive(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive a message and its descriptors of files; None if the other end is gone."""
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
