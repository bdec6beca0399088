/* What the emulation refuses, in words, on the cell's own line: what CUDA itself has taken back, and PTX, which the
   host's assembler does not know. */
#ifndef __UFM_CUDA_REFUSED_H
#define __UFM_CUDA_REFUSED_H
#pragma GCC system_header

#define __UFM_NO_MASK(name)                                                                                            \
    template <class... A>                                                                                              \
    __attribute__((__unavailable__("GPUs since 2017 have none without a mask: " #name                                  \
                                   "_sync(0xffffffff, ...) names the lanes that take part"))) int                      \
    name(A...)
__UFM_NO_MASK(__shfl);
__UFM_NO_MASK(__shfl_up);
__UFM_NO_MASK(__shfl_down);
__UFM_NO_MASK(__shfl_xor);
__UFM_NO_MASK(__any);
__UFM_NO_MASK(__all);
__UFM_NO_MASK(__ballot);

#define __UFM_NO_PTX static_assert(false, "inline PTX has no CPU emulation: write it in C++, or run this on a GPU");
#define asm __UFM_NO_PTX __asm__

#endif
