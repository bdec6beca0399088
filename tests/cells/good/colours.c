// types: hsv_to_rgb fff->fff, luma BBB->B, srgb d->d
// given: f = np.float32
// expect: np.array(hsv_to_rgb(f([0, 60, 120, 240]), f(1), f(1))).T == [[1,0,0], [1,1,0], [0,1,0], [0,0,1]] exactly
// expect: luma(np.uint8([0, 255, 255]), np.uint8([0, 255, 0]), np.uint8([0, 255, 0])) == [0, 255, 54] exactly
// expect: luma(255, 0, 0) == 54 exactly
// expect: srgb([0.0, 0.001, 0.5, 1.0]) == [0, 0.01292, 0.7353569830524495, 1] within 1e-14

#include <math.h>
#include <stdint.h>

void hsv_to_rgb(float h, float s, float v, float *r, float *g, float *b)
{
    float c = v * s, x = c * (1 - fabsf(fmodf(h / 60, 2) - 1)), m = v - c;
    float table[6][3] = {{c, x, 0}, {x, c, 0}, {0, c, x}, {0, x, c}, {x, 0, c}, {c, 0, x}};
    const float *t = table[(int)(h / 60) % 6];
    *r = t[0] + m; *g = t[1] + m; *b = t[2] + m;
}

uint8_t luma(uint8_t r, uint8_t g, uint8_t b) { return (uint8_t)((13933u*r + 46871u*g + 4732u*b + 32768u) >> 16); }
double srgb(double x) { return x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1/2.4) - 0.055; }
