// types: days ii->i, interpolate d->d, crc (n)->() B->I
// expect: days([2023, 2024, 1900, 2000], 2) == [28, 29, 28, 29] exactly
// expect: days(2024, np.arange(1, 13)).sum() == 366 exactly
// expect: interpolate([-1, 0, 0.5, 1.5, 9]) == [0, 0, 0.5, 2.5, 9] exactly
// expect: crc(np.frombuffer(b"123456789", "u1")) == 0xCBF43926 exactly

#include <stdint.h>

static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
static const double knots[4] = {0, 1, 4, 9};

int days(int year, int month) { return lengths[month - 1] + (month == 2 && (year % 4 == 0) && (year % 100 || year % 400 == 0)); }
double interpolate(double x)
{
    if (x <= 0) return knots[0];
    if (x >= 3) return knots[3];
    int i = (int)x;
    return knots[i] + (x - i) * (knots[i + 1] - knots[i]);
}
// ufunc: (n)->()
uint32_t crc(const unsigned char *p, long n)
{
    static uint32_t table[256];
    if (!table[1]) for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
    uint32_t c = ~0u;
    while (n--) c = table[(c ^ *p++) & 255] ^ (c >> 8);
    return ~c;
}
