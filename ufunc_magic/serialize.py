"""What pickles and object code of every release import by name; this path never moves."""

from .runtime import exception as exception, realize as realize
