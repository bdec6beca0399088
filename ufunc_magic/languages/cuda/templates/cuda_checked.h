/* --sanitize: each access of a kernel, looked at before it happens.
 *
 * The compiler puts calls in front of loads and stores, as for a kernel of an operating system that has its own rules.  A
 * thread may touch the arrays of the launch, its own stack, what the cell defines, and what the launch keeps of its block.
 */
#ifndef __UFM_CUDA_CHECKED_H
#define __UFM_CUDA_CHECKED_H
#pragma GCC system_header

extern "C" {
extern const char _end[] __attribute__((__visibility__("hidden")));

/* Where the arrays of the next launch begin and end. */
__UFM_SHOWN size_t __ufm_arrays[64][2] = {};
__UFM_SHOWN size_t __ufm_array_count = 0;
}

__UFM_UNCHECKED static void __ufm_look(const void *at, size_t size, bool written, const void *place)
{
    if (!__ufm_looking)
        return;
    __ufm_block *block = __ufm_running_block;
    __ufm_fiber *fiber = block->running;
    const size_t address = (size_t)at;
    bool fine = __ufm_within(address, size, fiber->stack, __UFM_STACK + __UFM_GUARD) ||
                __ufm_within(address, size, __ehdr_start, (size_t)(_end - __ehdr_start)) ||
                __ufm_within(address, size, block, sizeof *block) ||
                __ufm_within(address, size, __ufm_own.low, __ufm_own.length);
    const char *what = "its arrays";
#ifdef __UFM_DYNAMIC_SHARED
    if (__ufm_within(address, size, __ufm_dynamic_shared, sizeof __ufm_dynamic_shared)) {
        fine = __ufm_within(address, size, __ufm_dynamic_shared, block->grid->shared);
        what = "the shared memory that the launch asked for";
    }
#endif
    for (size_t k = 0; k < __ufm_array_count && !fine; k++)
        fine = __ufm_within(address, size, (const void *)__ufm_arrays[k][0], __ufm_arrays[k][1] - __ufm_arrays[k][0]);
    if (fine)
        return;
    __ufm_looking = false;
    if (!block->failed)
        __ufm_stray = {(size_t)((const char *)place - __ehdr_start), address, size};
    char text[100];
    snprintf(text, sizeof text, "it %s %zu bytes outside of %s", written ? "writes" : "reads", size, what);
    __ufm_block_failed(block, text);
    /* Compilers take these calls for ones that cannot throw: the thread stays where it is. */
    block->live[fiber->number / 32] &= ~(1u << fiber->number % 32);
    fiber->call = 0;
    __ufm_leave(fiber);
}

/* By other names, since compilers know these. */
#define __UFM_HOOK(name, symbol, parameters)                                                                           \
    __attribute__((__used__, __visibility__("hidden"))) void name parameters __asm__(symbol);                          \
    __UFM_UNCHECKED void name parameters
#define __UFM_LOOK(size)                                                                                               \
    __UFM_HOOK(__ufm_load##size, "__asan_load" #size "_noabort", (const void *at))                                     \
    {                                                                                                                  \
        __ufm_look(at, size, false, __builtin_return_address(0));                                                      \
    }                                                                                                                  \
    __UFM_HOOK(__ufm_store##size, "__asan_store" #size "_noabort", (const void *at))                                   \
    {                                                                                                                  \
        __ufm_look(at, size, true, __builtin_return_address(0));                                                       \
    }
__UFM_LOOK(1)
__UFM_LOOK(2)
__UFM_LOOK(4)
__UFM_LOOK(8)
__UFM_LOOK(16)
__UFM_HOOK(__ufm_load_some, "__asan_loadN_noabort", (const void *at, size_t size))
{
    __ufm_look(at, size, false, __builtin_return_address(0));
}
__UFM_HOOK(__ufm_store_some, "__asan_storeN_noabort", (const void *at, size_t size))
{
    __ufm_look(at, size, true, __builtin_return_address(0));
}
__UFM_HOOK(__ufm_no_return, "__asan_handle_no_return", (void)) {}

#endif
