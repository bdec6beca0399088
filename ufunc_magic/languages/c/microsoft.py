"""Words of Microsoft's compiler and headers, for compilers of other systems: their meanings as macros."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from . import c_text
from .parser import parse

_TYPES = {
    "char": "__int8 CHAR INT8",
    "unsigned char": "BYTE UCHAR BOOLEAN UINT8",
    "short": "__int16 SHORT INT16",
    "unsigned short": "WORD USHORT UINT16",
    "int": "__int32 BOOL INT LONG INT32 LONG32 HRESULT",
    "unsigned int": "DWORD UINT ULONG UINT32 ULONG32 DWORD32",
    "long long": "__int64 LONGLONG INT64 LONG64",
    "unsigned long long": "ULONGLONG DWORDLONG UINT64 ULONG64 DWORD64 QWORD",
    "__INTPTR_TYPE__": "INT_PTR LONG_PTR SSIZE_T",
    "__UINTPTR_TYPE__": "UINT_PTR ULONG_PTR DWORD_PTR SIZE_T",
    "float": "FLOAT",
    "double": "DOUBLE",
    "void": "VOID",
    "void *": "PVOID LPVOID HANDLE HINSTANCE HMODULE HWND",
    "char *": "LPSTR PSTR",
    "const char *": "LPCSTR PCSTR",
    "unsigned int *": "LPDWORD PDWORD",
}
_OTHERS = {
    "inline": "__forceinline",
    "const": "CONST",
    "1": "TRUE",
    "0": "FALSE",
    "": "__stdcall __cdecl __fastcall __vectorcall __thiscall __clrcall WINAPI WINAPIV APIENTRY CALLBACK PASCAL "
    "STDMETHODCALLTYPE _In_ _Out_ _Inout_ _In_opt_ _Out_opt_",
}
_MEANINGS = {word: meaning for meaning, words in (_TYPES | _OTHERS).items() for word in words.split()}
_DECLSPEC = "__declspec"
#: The arguments of `__declspec` that say something to others; the rest is left out.
_ATTRIBUTES = {
    "align(n)": "__attribute__((__aligned__(n)))",
    "noinline": "__attribute__((__noinline__))",
    "noreturn": "__attribute__((__noreturn__))",
    "thread": "__thread",
    **dict.fromkeys("dllexport dllimport nothrow noalias restrict novtable selectany safebuffers".split(), ""),
    **dict.fromkeys(("deprecated(x)", "uuid(x)", "allocate(x)", "code_seg(x)"), ""),
}


def find_words(source: str, fault: str, *, cplus: bool) -> dict[str, str]:
    """Microsoft's words in a cell that does not define them, with their meanings; none on Windows.

    ``fault`` is what the compiler says of it, with lines of the user's headers.
    """
    if sys.platform == "win32":
        return {}
    text = c_text.read(source, cplus=cplus)
    words = c_text.find_words("\n".join([text.code.decode(errors="replace"), *text.macros.values(), fault]))
    used = words & (_MEANINGS.keys() | {_DECLSPEC})
    if not used:
        return {}
    unit = parse(source, cplus=cplus)
    # A calling convention in front of a name may read as a name.
    defined = {*unit.typedefs, *unit.macros, *(name for name in unit.names if _MEANINGS.get(name))}
    return {word: _MEANINGS.get(word, "") for word in sorted(used - defined)}


def list_macro_flags(words: Mapping[str, str]) -> tuple[str, ...]:
    """The compiler's arguments that define the words."""
    macros = {word: meaning for word, meaning in words.items() if word != _DECLSPEC}
    if _DECLSPEC in words:
        macros[f"{_DECLSPEC}(x)"] = "__ufm_declspec_##x"
        macros |= {f"__ufm_declspec_{word}": meaning for word, meaning in _ATTRIBUTES.items()}
    return tuple(f"-D{word}={meaning}" for word, meaning in macros.items())


def note(words: Mapping[str, str]) -> str:
    """The note of a cell with such words."""
    meanings = ", ".join(f"{word} ({meaning or 'left out'})" for word, meaning in words.items())
    return f"Microsoft's words were read as GCC's: {meanings}"
