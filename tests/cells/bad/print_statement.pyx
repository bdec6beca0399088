def f(x):
    print "x is", x
    return x
