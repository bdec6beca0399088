// types: factorial d->d, ackermann ii->i, even i->?, collatz l->i
// expect: factorial([0.0, 1.0, 5.0, 10.0]) == [1, 1, 120, 3628800] exactly
// expect: ackermann(2, 3) == 9 exactly
// expect: even(np.arange(4)) == [True, False, True, False] exactly
// expect: collatz([1, 6, 27]) == [0, 8, 111] exactly

#include <stdbool.h>

double factorial(double x) { return x <= 1 ? 1 : x * factorial(x - 1); }
int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
static bool odd(int n);
bool even(int n) { return n == 0 || odd(n - 1); }
static bool odd(int n) { return n != 0 && even(n - 1); }
int collatz(long n)
{
    int steps = 0;
again:
    if (n == 1) goto done;
    n = n % 2 ? 3*n + 1 : n / 2;
    steps++;
    goto again;
done:
    return steps;
}
