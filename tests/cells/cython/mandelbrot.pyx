# types: escape Dl->l, square D->D, modulus F->f
# expect: escape([0j, 1+1j, 2.0], 50) == [50, 1, 1] exactly
# expect: square([1+2j]) == [-3+4j] exactly
# expect: modulus(np.array([3+4j], 'F')) == np.array([5], 'f') exactly
# expect: modulus(np.array([3+4j], 'F')).dtype.char == 'f' exactly
cdef extern from "complex.h" nogil:
    float cabsf(float complex)


cdef long escape(double complex c, long most) noexcept nogil:
    cdef double complex z = 0
    cdef long n
    for n in range(most):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4:
            return n
    return most


cdef double complex square(double complex z) noexcept nogil:
    return z * z


cdef float modulus(float complex z) noexcept nogil:
    return cabsf(z)
