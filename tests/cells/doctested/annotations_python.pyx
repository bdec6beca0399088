def typed(x: float, y: float) -> float:
    return x + y
def ints(a: int, b: int) -> int:
    return a * b
def strs(s: str) -> str:
    return s * 2
def optional(x: float = 2.0) -> float:
    return x
def lists(xs: list[float]) -> float:
    return sum(xs)
# >>> float(typed(1.0, 2.0)), ints(3, 4), strs("a"), optional(), lists([1.0, 2.0])
# (3.0, 12, 'aa', 2.0, 3.0)
