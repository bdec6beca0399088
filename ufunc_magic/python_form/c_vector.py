from .value import Stop


class VectorFunction:
    def __init__(self, *a, **k):
        raise Stop("x")
