${conversions}static int __ufm_sequence_$k(__ufm_intp __ufm_m, __ufm_char **__ufm_p, const __ufm_intp *__ufm_s, __ufm_char **__ufm_kept)
{
    $sequence_pointers
    $places
    __ufm_intp __ufm_j;
    $try
    $reduce_begin
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        $sequence_loads
        $keep_inputs
        __asm__ volatile(""); // One element after the other: compilers need not look for vectors.
        $sequence_locals
        $sequence_call
        $reduce_step
        $stores
        $keep_outputs
    }
    $reduce_end
    return 0;
    $catch
}
