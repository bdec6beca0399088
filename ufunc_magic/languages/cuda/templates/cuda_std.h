/* libcu++ on the host is the standard library: `cuda::std` is `std`. */
#ifndef __UFM_CUDA_STD_H
#define __UFM_CUDA_STD_H
#pragma GCC system_header
namespace cuda {
namespace std = ::std;
}
#endif
