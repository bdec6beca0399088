/* Loads, stores, fences, atomics.  Threads of a block take turns, and so do blocks from their first atomic on, so that every
   one of these is a plain access; a thread that changes nothing, again and again, lets others go on. */
#ifndef __UFM_CUDA_MEMORY_H
#define __UFM_CUDA_MEMORY_H
#pragma GCC system_header

#define __UFM_LOAD(name) template <class T> __UFM_INLINE T name(const T *p) { return *p; }
__UFM_LOAD(__ldg) __UFM_LOAD(__ldcg) __UFM_LOAD(__ldca) __UFM_LOAD(__ldcs) __UFM_LOAD(__ldlu) __UFM_LOAD(__ldcv)
#define __UFM_STORE(name)                                                                                              \
    template <class T> __UFM_INLINE void name(T *p, typename __ufm_same<T>::type value) { *p = value; }
__UFM_STORE(__stwb) __UFM_STORE(__stcg) __UFM_STORE(__stcs) __UFM_STORE(__stwt)

/* The old value is what each returns; `old` and `x` are the words of `result`. */
#define __UFM_ATOMIC_(name, T, result)                                                                                 \
    __UFM_INLINE T name(T *p, T x, __UFM_HERE)                                                                         \
    {                                                                                                                  \
        __ufm_before(p);                                                                                               \
        T old = *p, next = result;                                                                                     \
        *p = next;                                                                                                     \
        __ufm_after(__builtin_memcmp(&old, &next, sizeof old) != 0, #name "()", file, line);                           \
        return old;                                                                                                    \
    }
#define __UFM_ATOMIC(name, T, result)                                                                                  \
    __UFM_ATOMIC_(name, T, result) __UFM_ATOMIC_(name##_block, T, result) __UFM_ATOMIC_(name##_system, T, result)
#define __UFM_ATOMIC_INTEGERS(name, result)                                                                            \
    __UFM_ATOMIC(name, int, result)                                                                                    \
    __UFM_ATOMIC(name, unsigned, result)                                                                               \
    __UFM_ATOMIC(name, unsigned long long, result)
#define __UFM_ATOMIC_SIGNED(name, result) __UFM_ATOMIC_INTEGERS(name, result) __UFM_ATOMIC(name, long long, result)
__UFM_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)x))
__UFM_ATOMIC(atomicAdd, unsigned, old + x)
__UFM_ATOMIC(atomicAdd, unsigned long long, old + x)
__UFM_ATOMIC(atomicAdd, float, old + x)
__UFM_ATOMIC(atomicAdd, double, old + x)
__UFM_ATOMIC(atomicAdd, float2, (float2{old.x + x.x, old.y + x.y}))
__UFM_ATOMIC(atomicAdd, float4, (float4{old.x + x.x, old.y + x.y, old.z + x.z, old.w + x.w}))
__UFM_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)x))
__UFM_ATOMIC(atomicSub, unsigned, old - x)
__UFM_ATOMIC_INTEGERS(atomicExch, x)
__UFM_ATOMIC(atomicExch, float, x)
__UFM_ATOMIC_SIGNED(atomicMin, x < old ? x : old)
__UFM_ATOMIC_SIGNED(atomicMax, x > old ? x : old)
__UFM_ATOMIC_INTEGERS(atomicAnd, old & x)
__UFM_ATOMIC_INTEGERS(atomicOr, old | x)
__UFM_ATOMIC_INTEGERS(atomicXor, old ^ x)
__UFM_ATOMIC(atomicInc, unsigned, old >= x ? 0u : old + 1u)
__UFM_ATOMIC(atomicDec, unsigned, old == 0u || old > x ? x : old - 1u)

#define __UFM_CAS_(name, T)                                                                                            \
    __UFM_INLINE T name(T *p, T expected, T x, __UFM_HERE)                                                             \
    {                                                                                                                  \
        __ufm_before(p);                                                                                               \
        T old = *p;                                                                                                    \
        *p = old == expected ? x : old;                                                                                \
        __ufm_after(old == expected && old != x, #name "()", file, line);                                              \
        return old;                                                                                                    \
    }
#define __UFM_CAS(T) __UFM_CAS_(atomicCAS, T) __UFM_CAS_(atomicCAS_block, T) __UFM_CAS_(atomicCAS_system, T)
__UFM_CAS(int) __UFM_CAS(unsigned) __UFM_CAS(unsigned long long) __UFM_CAS(unsigned short)

__UFM_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__UFM_INLINE void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
__UFM_INLINE void __threadfence_system() { __threadfence(); }
__UFM_INLINE void __nanosleep(unsigned) {}
__UFM_INLINE void __prof_trigger(int) {}
__UFM_INLINE unsigned __isGlobal(const void *) { return 1; }
__UFM_INLINE unsigned __isShared(const void *) { return 0; }
__UFM_INLINE unsigned __isConstant(const void *) { return 0; }
__UFM_INLINE unsigned __isLocal(const void *) { return 0; }
__UFM_INLINE size_t __cvta_generic_to_global(const void *p) { return (size_t)p; }
__UFM_INLINE size_t __cvta_generic_to_shared(const void *p) { return (size_t)p; }
__UFM_INLINE size_t __cvta_generic_to_constant(const void *p) { return (size_t)p; }
__UFM_INLINE size_t __cvta_generic_to_local(const void *p) { return (size_t)p; }
__UFM_INLINE void *__cvta_global_to_generic(size_t p) { return (void *)p; }
__UFM_INLINE void *__cvta_shared_to_generic(size_t p) { return (void *)p; }
__UFM_INLINE void *__cvta_constant_to_generic(size_t p) { return (void *)p; }
__UFM_INLINE void *__cvta_local_to_generic(size_t p) { return (void *)p; }

/* Nanoseconds stand for cycles. */
__UFM_INLINE long long clock64()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

#endif
