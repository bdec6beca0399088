# distutils: language = c++
# types: nth_prime i->i
# expect: primes(5) == [2, 3, 5, 7, 11] exactly
# expect: [type(p) for p in primes(2)] == [int, int] exactly
# expect: nth_prime([1, 5, 100]) == [2, 11, 541] exactly
from libcpp.vector cimport vector


def primes(unsigned int nb_primes):
    cdef int n, i
    cdef vector[int] p
    p.reserve(nb_primes)
    n = 2
    while p.size() < nb_primes:
        for i in p:
            if n % i == 0:
                break
        else:
            p.push_back(n)
        n += 1
    return p


cdef int nth_prime(int k) except -1:
    cdef vector[int] found
    cdef int n = 2, i
    while <int>found.size() < k:
        for i in found:
            if n % i == 0:
                break
        else:
            found.push_back(n)
        n += 1
    return found.back()
