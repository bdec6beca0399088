"""What object code says of itself, as lines of text."""

from __future__ import annotations

from ..model import TYPES, FunctionCode, ObjectCode

__all__ = ["contents"]


def contents(object_code: ObjectCode, *, entry: str = "", size: int = 0, signed: bool = False) -> str:
    """A description of ``object_code`` for people.

    Parameters
    ----------
    object_code : ObjectCode
    entry : str
        The function that is meant, or ``""``.
    size : int
        Bytes of the whole payload, 0 if there is none.
    signed : bool
    """
    seal = "signed (not verified here)" if signed else "not signed"
    lines = [f"object code of ufunc_magic, {size:,} bytes, {seal}" if size else "object code of ufunc_magic"]
    rows = {
        "meant is": entry or "the whole object",
        "target": str(object_code.target),
        "CPU level": object_code.target.level,
        "made by": f"{object_code.toolchain or '?'}, from {object_code.language}",
        "module": object_code.module,
        "imports first": ", ".join(object_code.preload),
        "options": " ".join(f"{name}={value!r}" for name, value in object_code.options.items()),
        "threads": "its loops may run on several" if object_code.threads else "",
        "code": f"{len(object_code.code):,} bytes, SHA-256 {object_code.code_digest}",
        "for the GPU": _device(object_code),
        "source": f"{len(object_code.source.splitlines())} lines, {object_code.name}" if object_code.source else "none",
    }
    lines += [f"  {name:13} {value}" for name, value in rows.items() if value]
    lines.append("functions")
    lines += [f"  {_function(code)}" for code in object_code.functions]
    if object_code.source:
        lines += ["source", *(f"  {line}" for line in object_code.source.strip("\n").splitlines())]
    return "\n".join(lines)


def _device(object_code: ObjectCode) -> str:
    """What a CUDA cell brings along beside the code for the CPU."""
    if object_code.language != "cuda":
        return ""
    device = object_code.device
    seen = f"NVRTC {device['nvrtc']}" if device.get("nvrtc") else ""
    if device.get("ltoir"):
        size = len(device["ltoir"]) * 3 // 4
        return ", ".join(filter(None, [f"LTO-IR, {size:,} bytes, for {device.get('arch', '?')} and newer", seen]))
    return f"the source{f', checked by {seen}' if seen else ''}" if object_code.source else "nothing"


def _function(code: FunctionCode) -> str:
    called = f"{code.name}({', '.join(code.parameters)})"
    if code.kind != "ufunc":
        kinds = {"plain": "a C function", "kernel": "a kernel"}
        return f"{called}  {kinds.get(code.kind, 'a Python function')}"
    letters = ["".join(TYPES[t].char for t in loop.types) for loop in code.loops]
    loops = ", ".join(f"{w[: code.nin]}->{w[code.nin :]}" for w in letters)
    return "  ".join(filter(None, (called, code.core, loops)))
