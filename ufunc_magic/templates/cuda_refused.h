/* What the emulation refuses, in words, on the cell's own line: a function here has one lane, not a warp of 32, and
   the host's assembler knows no PTX. */
#ifndef __UFM_CUDA_REFUSED_H
#define __UFM_CUDA_REFUSED_H
#pragma GCC system_header

#define __UFM_NO_WARP(name)                                                                                            \
    template <class... A>                                                                                              \
    __attribute__((__unavailable__("the CPU emulation has no warps: share values through __shared__ memory and "       \
                                   "__syncthreads(), or run this on a GPU"))) int                                      \
    name(A...)
__UFM_NO_WARP(__shfl);
__UFM_NO_WARP(__shfl_up);
__UFM_NO_WARP(__shfl_down);
__UFM_NO_WARP(__shfl_xor);
__UFM_NO_WARP(__shfl_sync);
__UFM_NO_WARP(__shfl_up_sync);
__UFM_NO_WARP(__shfl_down_sync);
__UFM_NO_WARP(__shfl_xor_sync);
__UFM_NO_WARP(__any);
__UFM_NO_WARP(__all);
__UFM_NO_WARP(__ballot);
__UFM_NO_WARP(__any_sync);
__UFM_NO_WARP(__all_sync);
__UFM_NO_WARP(__uni_sync);
__UFM_NO_WARP(__ballot_sync);
__UFM_NO_WARP(__activemask);
__UFM_NO_WARP(__match_any_sync);
__UFM_NO_WARP(__match_all_sync);
__UFM_NO_WARP(__reduce_add_sync);
__UFM_NO_WARP(__reduce_min_sync);
__UFM_NO_WARP(__reduce_max_sync);
__UFM_NO_WARP(__reduce_and_sync);
__UFM_NO_WARP(__reduce_or_sync);
__UFM_NO_WARP(__reduce_xor_sync);

#define __UFM_NO_PTX static_assert(false, "inline PTX has no CPU emulation: write it in C++, or run this on a GPU");
#define asm __UFM_NO_PTX __asm__

#endif
