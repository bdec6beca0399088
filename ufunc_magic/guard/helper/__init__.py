"""The helper process: a program of its own, of the standard library alone, that runs new code and tells how it ended.

It is started by path, without the package, so that it stays small and quick to fork.
"""
