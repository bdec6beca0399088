"""Where pickles of every release find `realize`; this path never moves."""

from .runtime import realize as realize
