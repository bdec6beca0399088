# types: gcd ll->l, fibonacci i->L, popcount I->i, halves b->b, is_prime *
# expect: gcd(np.array([12, 17, 0]), np.array([18, 5, 7])) == [6, 1, 7] exactly
# expect: fibonacci(np.array([0, 1, 10, 90])) == [0, 1, 55, 2880067194370816120] exactly
# expect: popcount(np.array([0, 255, 2**32-1], 'I')) == [0, 8, 32] exactly
# expect: halves(np.array([-7, 7], 'b')) == [-4, 3] exactly
# expect: gcd.reduce([60, 48, 84]) == 12 exactly
# expect: is_prime(np.array([1, 2, 91, 97])).astype(bool) == [False, True, False, True] exactly
cpdef long gcd(long a, long b):
    while b:
        a, b = b, a % b
    return -a if a < 0 else a


cdef unsigned long fibonacci(int n) noexcept:
    cdef unsigned long a = 0, b = 1
    cdef int _
    for _ in range(n):
        a, b = b, a + b
    return a


cdef int popcount(unsigned int x) noexcept nogil:
    cdef int count = 0
    while x:
        x &= x - 1
        count += 1
    return count


cdef signed char halves(signed char x) noexcept:
    return x // 2


cpdef bint is_prime(long n):
    cdef long i
    if n < 2:
        return False
    for i in range(2, n):
        if i * i > n:
            break
        if n % i == 0:
            return False
    return True
