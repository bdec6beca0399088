// types: black_scholes ddddd->dd, cdf d->d
// given: S = np.linspace(50, 150, 301)
// given: call, put = black_scholes(S, 100, 0.5, 0.03, 0.2)
// expect: call - put == S - 100*np.exp(-0.03*0.5) within 1e-12
// expect: black_scholes(100.0, 100.0, 1.0, 0.05, 0.2)[0] == 10.450583572185565 within 1e-13
// expect: cdf([-np.inf, 0, np.inf]) == [0, 0.5, 1] exactly

#include <math.h>

double cdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

/* European options: the value of a call and of a put. */
void black_scholes(double S, double K, double T, double r, double sigma, double *call, double *put)
{
    const double s = sigma * sqrt(T);
    const double d1 = (log(S / K) + (r + sigma * sigma / 2) * T) / s, d2 = d1 - s;
    const double discount = K * exp(-r * T);
    *call = S * cdf(d1) - discount * cdf(d2);
    *put = discount * cdf(-d2) - S * cdf(-d1);
}
