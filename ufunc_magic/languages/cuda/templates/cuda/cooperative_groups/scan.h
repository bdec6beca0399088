/* NVIDIA's header of this name: in cooperative_groups.h. */
#include "../cooperative_groups.h"
