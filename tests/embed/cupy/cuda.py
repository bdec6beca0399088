"""Of the stand-in: who owns memory, and where it starts."""

from __future__ import annotations


class UnownedMemory:
    def __init__(self, ptr, size, owner, device_id=-1):
        if not isinstance(ptr, int) or not isinstance(size, int) or device_id < 0:
            raise TypeError(f"UnownedMemory({ptr!r}, {size!r}, owner, {device_id!r})")
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id


class runtime:
    class CUDARuntimeError(RuntimeError):
        pass

    @staticmethod
    def getDeviceCount():
        raise runtime.CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
