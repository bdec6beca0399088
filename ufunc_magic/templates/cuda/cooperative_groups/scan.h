/* NVIDIA's header of this name: in cooperative_groups.h. */
#pragma GCC system_header
#include "../cooperative_groups.h"
