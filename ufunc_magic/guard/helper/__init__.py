"""The helper process: a separate program, with the standard library only, that runs new code and reports how it ended.

It is started by path, without the package, so that it stays small and quick to fork.  ``helper_process`` forks and
watches, ``probe`` runs in the forked processes, ``probe_memory`` has the memory that they use and share, and ``wire``
sends and receives messages, on both sides.
"""
