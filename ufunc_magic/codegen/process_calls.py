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
    "files": "close close_range dup2 closefrom syscall",
    "flags": "asm feenableexcept fesetenv feupdateenv _mm_setcsr __builtin_ia32_ldmxcsr __builtin_ia32_writeeflags_u64",
    "children": "fork vfork syscall",
    "cores": "sched_setaffinity",
    "stack": "sigaltstack",
}
#: Calls that make threads.
_THREADS = frozenset("pthread_create thrd_create".split())
#: Functions in whose place the cell calls ours.
_RENAMED = frozenset(
    "kill killpg tgkill pthread_kill sigqueue pthread_exit vfork execve execv execvp execl execlp execle munmap "
    "mprotect close close_range dup2 syscall sigaction signal sigprocmask pthread_sigmask setrlimit timer_create "
    "timer_delete err errx prctl".split()
)
_NAMES = _RENAMED.union(_THREADS, *(words.split() for words in _STATE.values()))


def find_process_calls(unit: Unit) -> frozenset[str]:
    """The calls of a cell that reach the whole process; functions that it defines are its own."""
    if not sys.platform.startswith("linux"):
        return frozenset()
    called = frozenset[str]().union(*(function.body.calls for function in unit.functions))
    names = _NAMES & called - {function.name for function in unit.functions}
    text = "\n".join(function.text for function in unit.functions)
    # A keyword: asm, __asm__, asm volatile; and classes whose constructors start threads.
    if "asm" in text:
        names |= {"asm"}
    if any(word in text for word in ("std::thread", "std::jthread", "std::async")):
        names |= _THREADS
    return names


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
