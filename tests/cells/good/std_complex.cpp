// types: joukowski D->D, mag F->f, polar_ dd->D
// given: z = np.array([1+1j, 2-1j])
// expect: joukowski(z) == z + 1/z within 1e-15
// expect: mag(np.complex64(3+4j)) == 5 exactly
// expect: polar_(2.0, np.pi/2) == 2j within 1e-15 or 1e-15

#include <complex>

using cplx = std::complex<double>;
cplx joukowski(cplx z) { return z + 1.0 / z; }
float mag(std::complex<float> z) { return std::abs(z); }
std::complex<double> polar_(double r, double phi) { return std::polar(r, phi); }
