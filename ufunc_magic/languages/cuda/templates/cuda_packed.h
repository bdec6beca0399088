/* Two or four small integers in a word, dot products of them, and maxima and minima of sums. */
#ifndef __UFM_CUDA_PACKED_H
#define __UFM_CUDA_PACKED_H
#pragma GCC system_header

/* `result` is a word of x and y, one part of each operand, and of `most`, the largest signed part. */
#define __UFM_PARTS(name, part, result)                                                                                \
    __UFM_INLINE constexpr unsigned name(unsigned a, unsigned b)                                                       \
    {                                                                                                                  \
        constexpr int bits = 8 * sizeof(part), most = (1 << (bits - 1)) - 1;                                           \
        constexpr unsigned mask = 2u * most + 1u;                                                                      \
        unsigned r = 0;                                                                                                \
        for (int k = 0; k < 32; k += bits) {                                                                           \
            const int x = (part)(a >> k), y = (part)(b >> k);                                                          \
            r |= ((unsigned)(result) & mask) << k;                                                                     \
        }                                                                                                              \
        (void)mask, (void)most;                                                                                        \
        return r;                                                                                                      \
    }
#define __UFM_S(name, result) __UFM_PARTS(name##2, short, result) __UFM_PARTS(name##4, signed char, result)
#define __UFM_U(name, result)                                                                                          \
    __UFM_PARTS(name##2, unsigned short, result) __UFM_PARTS(name##4, unsigned char, result)
__UFM_S(__vabsdiffs, x > y ? x - y : y - x)
__UFM_U(__vabsdiffu, x > y ? x - y : y - x)
__UFM_U(__vadd, x + y)
__UFM_S(__vaddss, x + y > most ? most : x + y < -most - 1 ? -most - 1 : x + y)
__UFM_U(__vaddus, x + y > 2 * most + 1 ? 2 * most + 1 : x + y)
__UFM_S(__vavgs, (x + y + (x + y >= 0)) >> 1)
__UFM_U(__vavgu, (x + y + 1) >> 1)
__UFM_U(__vhaddu, (x + y) >> 1)
__UFM_S(__vmaxs, x > y ? x : y)
__UFM_U(__vmaxu, x > y ? x : y)
__UFM_S(__vmins, x < y ? x : y)
__UFM_U(__vminu, x < y ? x : y)
__UFM_U(__vsub, x - y)
__UFM_S(__vsubss, x - y > most ? most : x - y < -most - 1 ? -most - 1 : x - y)
__UFM_U(__vsubus, x > y ? x - y : 0)
#define __UFM_COMPARED(kind, end, relation)                                                                            \
    __UFM_##kind(__vcmp##end, x relation y ? -1 : 0) __UFM_##kind(__vset##end, x relation y ? 1 : 0)
__UFM_COMPARED(U, eq, ==)
__UFM_COMPARED(U, ne, !=)
__UFM_COMPARED(S, ges, >=)
__UFM_COMPARED(U, geu, >=)
__UFM_COMPARED(S, gts, >)
__UFM_COMPARED(U, gtu, >)
__UFM_COMPARED(S, les, <=)
__UFM_COMPARED(U, leu, <=)
__UFM_COMPARED(S, lts, <)
__UFM_COMPARED(U, ltu, <)
__UFM_S(__ufm_vabs, y * 0 + (x < 0 ? -x : x))
__UFM_S(__ufm_vabsss, y * 0 + (x < -most ? most : x < 0 ? -x : x))
__UFM_S(__ufm_vnegss, y * 0 + (x < -most ? most : -x))
__UFM_INLINE constexpr unsigned __vabs2(unsigned a) { return __ufm_vabs2(a, 0); }
__UFM_INLINE constexpr unsigned __vabs4(unsigned a) { return __ufm_vabs4(a, 0); }
__UFM_INLINE constexpr unsigned __vabsss2(unsigned a) { return __ufm_vabsss2(a, 0); }
__UFM_INLINE constexpr unsigned __vabsss4(unsigned a) { return __ufm_vabsss4(a, 0); }
__UFM_INLINE constexpr unsigned __vneg2(unsigned a) { return __vsub2(0, a); }
__UFM_INLINE constexpr unsigned __vneg4(unsigned a) { return __vsub4(0, a); }
__UFM_INLINE constexpr unsigned __vnegss2(unsigned a) { return __ufm_vnegss2(a, 0); }
__UFM_INLINE constexpr unsigned __vnegss4(unsigned a) { return __ufm_vnegss4(a, 0); }
__UFM_INLINE constexpr unsigned __ufm_sum2(unsigned a) { return (a & 0xffff) + (a >> 16); }
__UFM_INLINE constexpr unsigned __ufm_sum4(unsigned a)
{
    return __ufm_sum2(a & 0xff00ffu) + __ufm_sum2(a >> 8 & 0xff00ffu);
}
__UFM_INLINE constexpr unsigned __vsads2(unsigned a, unsigned b) { return __ufm_sum2(__vabsdiffs2(a, b)); }
__UFM_INLINE constexpr unsigned __vsads4(unsigned a, unsigned b) { return __ufm_sum4(__vabsdiffs4(a, b)); }
__UFM_INLINE constexpr unsigned __vsadu2(unsigned a, unsigned b) { return __ufm_sum2(__vabsdiffu2(a, b)); }
__UFM_INLINE constexpr unsigned __vsadu4(unsigned a, unsigned b) { return __ufm_sum4(__vabsdiffu4(a, b)); }

/* Sums wrap around, as they do in the parts of a word. */
#define __UFM_WORDS(T, end)                                                                                            \
    __UFM_INLINE constexpr T __viaddmax_##end(T a, T b, T c) { return max((T)((unsigned)a + (unsigned)b), c); }        \
    __UFM_INLINE constexpr T __viaddmin_##end(T a, T b, T c) { return min((T)((unsigned)a + (unsigned)b), c); }        \
    __UFM_INLINE constexpr T __vimax3_##end(T a, T b, T c) { return max(max(a, b), c); }                               \
    __UFM_INLINE constexpr T __vimin3_##end(T a, T b, T c) { return min(min(a, b), c); }                               \
    __UFM_INLINE constexpr T __vibmax_##end(T a, T b, bool *first) { return *first = a >= b, max(a, b); }              \
    __UFM_INLINE constexpr T __vibmin_##end(T a, T b, bool *first) { return *first = a <= b, min(a, b); }
__UFM_WORDS(int, s32)
__UFM_WORDS(unsigned, u32)
#define __UFM_HALFWORDS(end, sign, part)                                                                               \
    __UFM_INLINE constexpr unsigned __viaddmax_##end(unsigned a, unsigned b, unsigned c)                               \
    {                                                                                                                  \
        return __vmax##sign##2(__vadd2(a, b), c);                                                                      \
    }                                                                                                                  \
    __UFM_INLINE constexpr unsigned __viaddmin_##end(unsigned a, unsigned b, unsigned c)                               \
    {                                                                                                                  \
        return __vmin##sign##2(__vadd2(a, b), c);                                                                      \
    }                                                                                                                  \
    __UFM_INLINE constexpr unsigned __vimax3_##end(unsigned a, unsigned b, unsigned c)                                 \
    {                                                                                                                  \
        return __vmax##sign##2(__vmax##sign##2(a, b), c);                                                              \
    }                                                                                                                  \
    __UFM_INLINE constexpr unsigned __vimin3_##end(unsigned a, unsigned b, unsigned c)                                 \
    {                                                                                                                  \
        return __vmin##sign##2(__vmin##sign##2(a, b), c);                                                              \
    }                                                                                                                  \
    __UFM_INLINE constexpr unsigned __vibmax_##end(unsigned a, unsigned b, bool *high, bool *low)                      \
    {                                                                                                                  \
        *high = (part)(a >> 16) >= (part)(b >> 16), *low = (part)a >= (part)b;                                         \
        return __vmax##sign##2(a, b);                                                                                  \
    }                                                                                                                  \
    __UFM_INLINE constexpr unsigned __vibmin_##end(unsigned a, unsigned b, bool *high, bool *low)                      \
    {                                                                                                                  \
        *high = (part)(a >> 16) <= (part)(b >> 16), *low = (part)a <= (part)b;                                         \
        return __vmin##sign##2(a, b);                                                                                  \
    }
__UFM_HALFWORDS(s16x2, s, short)
__UFM_HALFWORDS(u16x2, u, unsigned short)
#define __UFM_RELU(T, end, zero)                                                                                       \
    __UFM_INLINE constexpr T __viaddmax_##end##_relu(T a, T b, T c) { return zero(__viaddmax_##end(a, b, c), 0); }     \
    __UFM_INLINE constexpr T __viaddmin_##end##_relu(T a, T b, T c) { return zero(__viaddmin_##end(a, b, c), 0); }     \
    __UFM_INLINE constexpr T __vimax3_##end##_relu(T a, T b, T c) { return zero(__vimax3_##end(a, b, c), 0); }         \
    __UFM_INLINE constexpr T __vimin3_##end##_relu(T a, T b, T c) { return zero(__vimin3_##end(a, b, c), 0); }         \
    __UFM_INLINE constexpr T __vimax_##end##_relu(T a, T b) { return zero(__vimax3_##end(a, a, b), 0); }               \
    __UFM_INLINE constexpr T __vimin_##end##_relu(T a, T b) { return zero(__vimin3_##end(a, a, b), 0); }
__UFM_RELU(int, s32, max)
__UFM_RELU(unsigned, s16x2, __vmaxs2)

/* Four products of bytes, or two of a halfword and a byte, added to c. */
#define __UFM_DOT(T, byte, halfword, bytes, halfwords)                                                                 \
    __UFM_INLINE constexpr T __dp4a(T a, T b, T c)                                                                     \
    {                                                                                                                  \
        unsigned r = (unsigned)c;                                                                                      \
        for (int k = 0; k < 32; k += 8)                                                                                \
            r += (unsigned)((byte)((unsigned)a >> k) * (byte)((unsigned)b >> k));                                      \
        return (T)r;                                                                                                   \
    }                                                                                                                  \
    __UFM_INLINE constexpr T __dp2a_lo(T a, T b, T c)                                                                  \
    {                                                                                                                  \
        return (T)((unsigned)c + (unsigned)((halfword)(unsigned)a * (byte)(unsigned)b) +                               \
                   (unsigned)((halfword)((unsigned)a >> 16) * (byte)((unsigned)b >> 8)));                              \
    }                                                                                                                  \
    __UFM_INLINE constexpr T __dp2a_hi(T a, T b, T c) { return __dp2a_lo(a, (T)((unsigned)b >> 16), c); }              \
    __UFM_INLINE T __dp4a(bytes a, bytes b, T c) { return __dp4a(__ufm_bits<T>(a), __ufm_bits<T>(b), c); }             \
    __UFM_INLINE T __dp2a_lo(halfwords a, bytes b, T c) { return __dp2a_lo(__ufm_bits<T>(a), __ufm_bits<T>(b), c); }   \
    __UFM_INLINE T __dp2a_hi(halfwords a, bytes b, T c) { return __dp2a_hi(__ufm_bits<T>(a), __ufm_bits<T>(b), c); }
__UFM_DOT(int, signed char, short, char4, short2)
__UFM_DOT(unsigned, unsigned char, unsigned short, uchar4, ushort2)

#endif
