"""Calls of a cell that reach the whole process: which go to functions of ours, and what is undone when a call ends.

The functions are in ``templates/process.c``, which is linked with such cells alone.
"""

from __future__ import annotations

import sys
from collections.abc import Set

from ..model import Unit

#: Parts of the process's state -> identifiers that may mean a change; bits of ``process.c`` in this order.
_STATE = {
    "signals": "signal sigaction sigprocmask pthread_sigmask sigset bsd_signal siginterrupt sigsuspend",
    "limits": "setrlimit prlimit",
    "timers": "alarm ualarm setitimer",
    "folder": "chdir fchdir",
    "locale": "setlocale",
    "umask": "umask",
    "files": "close close_range dup2 closefrom",
    "flags": "asm __builtin_ia32_writeeflags_u64 __builtin_ia32_writeeflags_u32",
    "children": "fork vfork clone",
    "threads": "pthread_create thrd_create thread jthread async",
}
#: Functions in whose place the cell calls ours.
_RENAMED = frozenset(
    "kill killpg tgkill pthread_kill pthread_exit vfork execve execv execvp execl execlp execle munmap mprotect close "
    "close_range dup2 syscall sigaction signal sigprocmask pthread_sigmask setrlimit".split()
)
_NAMES = _RENAMED.union(*(words.split() for words in _STATE.values()))


def find_process_calls(unit: Unit) -> frozenset[str]:
    """The identifiers of a cell that mean a call which reaches the whole process; those that it defines are its own."""
    if not sys.platform.startswith("linux"):
        return frozenset()
    names = _NAMES & unit.identifiers - {function.name for function in unit.functions}
    # A keyword: asm, __asm__, asm volatile.
    return names | {"asm"} if any("asm" in function.text for function in unit.functions) else names


def write_process_calls(names: Set[str]) -> str:
    """C text, before a cell with these identifiers, that has it call our functions; ``""`` for no names."""
    if not names:
        return ""
    state = sum(1 << bit for bit, words in enumerate(_STATE.values()) if not names.isdisjoint(words.split()))
    lines = [f"#pragma redefine_extname {name} __ufm_own_{name}" for name in sorted(names & _RENAMED)]
    # Weak, because a cell may be compiled in parts.
    attributes = '__attribute__((weak, visibility("hidden")))'
    linkage = '#ifdef __cplusplus\nextern "C"\n#endif\n'
    return "\n".join([*lines, f"{linkage}{attributes} int __ufm_kept = {state};"])
