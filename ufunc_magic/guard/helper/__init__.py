"""The helper process: a program of its own, of the standard library alone, that runs new code and tells how it ended.

It is started by path, without the package, so that it stays small and quick to fork.  ``helper_process`` forks and
watches, ``probe`` is what runs in the forked processes, ``probe_memory`` the memory that they use and share, ``wire``
how messages look; that one is the guard's side too.
"""
