# types: grüße d->d, naïve d->d
# expect: grüße(2.0) == 4 exactly
# expect: naïve(2.0) == 1 exactly
# expect: greeting() == "¡hola! — 你好" exactly
# expect: ('Doubles — wie schön.' in grüße.__doc__) == True exactly
cdef double grüße(double x):
    """Doubles — wie schön."""
    return 2*x
cdef double naïve(double x): return x/2
def greeting():
    return "¡hola! — 你好"
