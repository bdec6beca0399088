"""Which loops are compiled once for each level of the CPU (AVX2, AVX-512), callees and all: decided here.

Which levels there are says ``__UFM_CLONES`` in ``templates/support.h``; the system's loader picks one by the CPU it
runs on.  Units that are compiled with ``__UFM_ONE_TARGET`` have one target and no clones.
"""

from __future__ import annotations

from .loop_types import Instance

#: Below this many syntax nodes a function is inlined into its kernel, callees and all; above, three
#: clones of it would cost more compile time than they save.  Without a loop in it, it may become SIMD code.
_INLINE_NODES = 1500
_INLINE_STRAIGHT_NODES = 5000


def clone_words(instance: Instance) -> dict[str, str]:
    """The attributes of a loop's kernel, as the templates name them; empty where it gets no clones."""
    function = instance.signature.function
    most = _INLINE_NODES if instance.loops else _INLINE_STRAIGHT_NODES
    small = function.size <= most and not function.recursive
    attributes = {
        "clones": "__UFM_CLONES",
        "fma_clones": "__UFM_CLONES_FMA",
        "flatten": "__UFM_FLATTEN",
        "flatten_body": "__UFM_FLATTEN_BODY",
    }
    return {word: attribute if small else "" for word, attribute in attributes.items()}
