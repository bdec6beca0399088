/* All of it is there from the start. */
#pragma GCC system_header
#include "../cuda.h"
