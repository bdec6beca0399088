def true_div(int a, int b):
    return a / b
def floor_div(int a, int b):
    return a // b
def modulo(int a, int b):
    return a % b
def pair(int a, int b):
    return divmod(a, b)
# >>> float(true_div(7, 2)), int(floor_div(-7, 2)), int(modulo(-7, 2)), pair(-7, 2)
# (3.5, -4, 1, (-4, 1))
# >>> floor_div(1, 0)
# Traceback (most recent call last):
# ZeroDivisionError: integer division or modulo by zero
