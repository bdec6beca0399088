/* All of it is there from the start. */
#include "../cuda.h"
