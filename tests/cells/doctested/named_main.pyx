def main(int argc):
    return argc + 1
def complex_(int Complex, int I):
    return Complex * 2
def unix(double linux):
    return linux / 2
def exit(int n):
    return n + 2
def errno(int signal, int stdin):
    return signal + stdin
# >>> int(main(3)), int(complex_(4, 1)), float(unix(3.0)), int(errno(1, 2)), int(exit(1))
# (4, 8, 1.5, 3, 3)
