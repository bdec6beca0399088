/* assert() of device code: a failure is an error of the call, not the end of the process. */
#pragma GCC system_header
#ifndef __UFM_CUDA_EMULATION__
#include_next <assert.h>
#else
#undef assert
#undef __ufm_assert
/* __ufm_assert: in texts of thread_loops.py, which have other lines. */
#ifdef NDEBUG
#define assert(condition) ((void)0)
#define __ufm_assert(line, condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __ufm_fault(#condition, __FILE__, __LINE__))
#define __ufm_assert(line, condition) ((condition) ? (void)0 : __ufm_fault(#condition, __FILE__, line))
#endif
#endif
