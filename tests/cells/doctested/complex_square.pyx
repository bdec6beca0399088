def square(double complex z):
    return z*z
# >>> complex(square(1 + 2j))
# (-3+4j)
