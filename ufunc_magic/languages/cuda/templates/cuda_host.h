/* The host's part of a program in the emulation: memory, copies, launches, streams, events of CUDA's runtime.
 *
 * There is one device, the CPU, whose memory is this process's, and everything is done when a call returns.  Errors are
 * those of CUDA: what is wrong with a launch is what cudaGetLastError() gives, and what a kernel did wrong stays.
 */
#ifndef __UFM_CUDA_HOST_H
#define __UFM_CUDA_HOST_H
#pragma GCC system_header

/* What nvcc includes by itself. */
#include <cmath>
#include <cstdlib>
#include <new>
#include <tuple>
#include <utility>
#include <limits.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* cuda_libc.h hides them from cells, whose functions may have these names. */
extern "C" {
long random(void) noexcept(true);
double drand48(void) noexcept(true);
long lrand48(void) noexcept(true);
long mrand48(void) noexcept(true);
}

#define CUDART_CB
#define CUDARTAPI

#define __UFM_ERRORS(X)                                                                                                \
    X(cudaSuccess, 0, "no error")                                                                                      \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                                    \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                                                   \
    X(cudaErrorInitializationError, 3, "initialization error")                                                         \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                              \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                                        \
    X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                                             \
    X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                                     \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                                        \
    X(cudaErrorInvalidTexture, 18, "invalid texture reference")                                                        \
    X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")                 \
    X(cudaErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")                            \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                                   \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                                    \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                                           \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device")                \
    X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")                                           \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                                  \
    X(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices")                    \
    X(cudaErrorNotReady, 600, "device not ready")                                                                      \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                                        \
    X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                                                                      \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                                        \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                                   \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                                          \
    X(cudaErrorSetOnActiveProcess, 708, "cannot set while device is active in this process")                           \
    X(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped")        \
    X(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region")              \
    X(cudaErrorHardwareStackError, 714, "hardware stack error")                                                        \
    X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")                                      \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                                                           \
    X(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space")                     \
    X(cudaErrorInvalidPc, 718, "invalid program counter")                                                              \
    X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                                \
    X(cudaErrorSystemNotReady, 802, "system not yet initialized")                                                      \
    X(cudaErrorAssert, 710, "device-side assert triggered")                                                            \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                                       \
    X(cudaErrorNotSupported, 801, "operation not supported")                                                           \
    X(cudaErrorUnknown, 999, "unknown error")
#define __UFM_NUMBER(name, number, text) name = number,
enum cudaError { __UFM_ERRORS(__UFM_NUMBER) };
#undef __UFM_NUMBER
typedef enum cudaError cudaError_t;
#define cudaErrorLaunchFailed cudaErrorLaunchFailure

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef void (*cudaHostFn_t)(void *);
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);
struct CUstream_st { int priority; unsigned flags; };
struct CUevent_st { struct timespec at; bool recorded; };

enum {
    cudaEventRecordDefault = 0, cudaEventRecordExternal = 1, cudaEventWaitDefault = 0, cudaEventWaitExternal = 1,
    cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2, cudaEventInterprocess = 4,
    cudaStreamDefault = 0, cudaStreamNonBlocking = 1,
    cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4,
    cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2, cudaHostRegisterIoMemory = 4,
    cudaHostRegisterReadOnly = 8, cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaCpuDeviceId = -1,
    cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceMapHost = 8
};
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly, cudaMemAdviseSetPreferredLocation,
    cudaMemAdviseUnsetPreferredLocation, cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy
};
#define __UFM_ATTRIBUTES(X) \
    X(cudaDevAttrMaxThreadsPerBlock, 1, all.maxThreadsPerBlock) \
    X(cudaDevAttrMaxBlockDimX, 2, all.maxThreadsDim[0]) \
    X(cudaDevAttrMaxBlockDimY, 3, all.maxThreadsDim[1]) \
    X(cudaDevAttrMaxBlockDimZ, 4, all.maxThreadsDim[2]) \
    X(cudaDevAttrMaxGridDimX, 5, all.maxGridSize[0]) \
    X(cudaDevAttrMaxGridDimY, 6, all.maxGridSize[1]) \
    X(cudaDevAttrMaxGridDimZ, 7, all.maxGridSize[2]) \
    X(cudaDevAttrMaxSharedMemoryPerBlock, 8, all.sharedMemPerBlock) \
    X(cudaDevAttrTotalConstantMemory, 9, all.totalConstMem) \
    X(cudaDevAttrWarpSize, 10, 32) \
    X(cudaDevAttrMaxPitch, 11, all.memPitch) \
    X(cudaDevAttrMaxRegistersPerBlock, 12, all.regsPerBlock) \
    X(cudaDevAttrClockRate, 13, all.clockRate) \
    X(cudaDevAttrTextureAlignment, 14, all.textureAlignment) \
    X(cudaDevAttrGpuOverlap, 15, all.deviceOverlap) \
    X(cudaDevAttrMultiProcessorCount, 16, all.multiProcessorCount) \
    X(cudaDevAttrKernelExecTimeout, 17, 0) \
    X(cudaDevAttrIntegrated, 18, all.integrated) \
    X(cudaDevAttrCanMapHostMemory, 19, all.canMapHostMemory) \
    X(cudaDevAttrComputeMode, 20, all.computeMode) \
    X(cudaDevAttrConcurrentKernels, 31, all.concurrentKernels) \
    X(cudaDevAttrEccEnabled, 32, 0) \
    X(cudaDevAttrPciBusId, 33, all.pciBusID) \
    X(cudaDevAttrPciDeviceId, 34, all.pciDeviceID) \
    X(cudaDevAttrTccDriver, 35, 0) \
    X(cudaDevAttrMemoryClockRate, 36, all.memoryClockRate) \
    X(cudaDevAttrGlobalMemoryBusWidth, 37, all.memoryBusWidth) \
    X(cudaDevAttrL2CacheSize, 38, all.l2CacheSize) \
    X(cudaDevAttrMaxThreadsPerMultiProcessor, 39, all.maxThreadsPerMultiProcessor) \
    X(cudaDevAttrAsyncEngineCount, 40, all.asyncEngineCount) \
    X(cudaDevAttrUnifiedAddressing, 41, all.unifiedAddressing) \
    X(cudaDevAttrPciDomainId, 50, all.pciDomainID) \
    X(cudaDevAttrComputeCapabilityMajor, 75, all.major) \
    X(cudaDevAttrComputeCapabilityMinor, 76, all.minor) \
    X(cudaDevAttrStreamPrioritiesSupported, 78, 0) \
    X(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, all.sharedMemPerMultiprocessor) \
    X(cudaDevAttrMaxRegistersPerMultiprocessor, 82, all.regsPerMultiprocessor) \
    X(cudaDevAttrManagedMemory, 83, all.managedMemory) \
    X(cudaDevAttrIsMultiGpuBoard, 84, 0) \
    X(cudaDevAttrPageableMemoryAccess, 88, all.pageableMemoryAccess) \
    X(cudaDevAttrConcurrentManagedAccess, 89, 1) \
    X(cudaDevAttrCooperativeLaunch, 95, 1) \
    X(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, all.sharedMemPerBlockOptin) \
    X(cudaDevAttrHostRegisterSupported, 99, 1) \
    X(cudaDevAttrMaxBlocksPerMultiprocessor, 106, all.maxBlocksPerMultiProcessor) \
    X(cudaDevAttrMemoryPoolsSupported, 115, 1)
#define __UFM_NUMBER(name, number, value) name = number,
enum cudaDeviceAttr { __UFM_ATTRIBUTES(__UFM_NUMBER) };
#undef __UFM_NUMBER
enum cudaComputeMode {
    cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited, cudaComputeModeExclusiveProcess
};
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
struct cudaUUID_t { char bytes[16]; };
struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t surfaceAlignment, texturePitchAlignment, reservedSharedMemPerBlock;
    int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DLinear[3], maxTexture3D[3],
        maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3], maxSurface1D, maxSurface2D[2], maxSurface3D[3],
        persistingL2CacheMaxSize, accessPolicyMaxWindowSize, streamPrioritiesSupported, globalL1CacheSupported,
        localL1CacheSupported, hostNativeAtomicSupported, computePreemptionSupported, canUseHostPointerForRegisteredMem,
        directManagedMemAccessFromHost, pageableMemoryAccessUsesHostPageTables, hostRegisterSupported, memoryPoolsSupported,
        multiGpuBoardGroupID, singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch, clusterLaunch;
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor, memPitch, totalConstMem,
        textureAlignment;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], major, minor, multiProcessorCount,
        maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, regsPerMultiprocessor, l2CacheSize, memoryBusWidth,
        integrated, canMapHostMemory, concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,
        asyncEngineCount, unifiedAddressing, managedMemory, concurrentManagedAccess, cooperativeLaunch, isMultiGpuBoard,
        pageableMemoryAccess, clockRate, memoryClockRate, kernelExecTimeoutEnabled, computeMode, deviceOverlap;
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, maxDynamicSharedSizeBytes;
};

/* A program asks with cudaFuncSetAttribute(). */
static const size_t __ufm_asked __attribute__((__unused__)) = __ufm_most_shared = 49152;
static cudaError_t __ufm_last, __ufm_broken; /* the last error; that of a kernel, which stays */
static cudaError_t __ufm_result(cudaError_t error)
{
    if (!error)
        error = __ufm_broken;
    if (error)
        __ufm_last = error;
    return error;
}
#ifdef __UFM_CUDA_CHECKED__ /* an access of theirs is on the line of the call */
#define __UFM_HOST static inline __attribute__((__unused__, __always_inline__)) cudaError_t
#else
#define __UFM_HOST static inline __attribute__((__unused__)) cudaError_t
#endif

__UFM_HOST cudaGetLastError()
{
    cudaError_t error = __ufm_last;
    __ufm_last = __ufm_broken;
    return error;
}
__UFM_HOST cudaPeekAtLastError() { return __ufm_last; }
#define __UFM_TEXT_OF(name, number, text) case number: return text;
#define __UFM_NAME_OF(name, number, text) case number: return #name;
static inline const char *cudaGetErrorString(cudaError_t error)
{
    switch ((int)error) { __UFM_ERRORS(__UFM_TEXT_OF) }
    return "unrecognized error code";
}
static inline const char *cudaGetErrorName(cudaError_t error)
{
    switch ((int)error) { __UFM_ERRORS(__UFM_NAME_OF) }
    return "unrecognized error code";
}
#undef __UFM_TEXT_OF
#undef __UFM_NAME_OF

/* -------------------------------------------------------------------------------------------------------- memory */

/* What cudaMalloc gave: a copy beyond its end is refused, as it is on a GPU.  It is zero, as new memory of nearly every GPU
   is, although CUDA does not promise it; under --sanitize it holds a pattern, see below. */
struct __ufm_memory { char *at; size_t size; __ufm_memory *next; void *whole; char *written; };
enum { __UFM_MEMORY_ALIGNED = 256 };
static __ufm_memory *__ufm_allocated;
__UFM_UNCHECKED static __ufm_memory **__ufm_memory_of(const void *at)
{
    __ufm_memory **one = &__ufm_allocated;
    while (*one && !((*one)->at <= (const char *)at && (const char *)at < (*one)->at + (*one)->size))
        one = &(*one)->next;
    return one;
}
#ifdef __UFM_CUDA_CHECKED__
/* Who writes through the C library leaves no trace but that the pattern is gone. */
__UFM_UNCHECKED static unsigned __ufm_pattern(const char *at) { return (unsigned)((size_t)at / 4 * 2654435761u) ^ 0xa5a5a5a5u; }
__UFM_UNCHECKED static void __ufm_keep_track(__ufm_memory *one)
{
    one->written = (char *)calloc(1, one->size);
    for (size_t k = 0; one->written && k < one->size; k += 4)
        *(unsigned *)(one->at + k) = __ufm_pattern(one->at + k);
}
__UFM_UNCHECKED static __ufm_verdict __ufm_look_at_allocated(const void *at, size_t size, bool written)
{
    const __ufm_memory *one = *__ufm_memory_of(at);
    if (!one)
        return {false, 0};
    if ((size_t)(one->at + one->size - (const char *)at) < size)
        return {true, written ? "it writes %zu bytes beyond the end of what cudaMalloc() gave"
                              : "it reads %zu bytes beyond the end of what cudaMalloc() gave"};
    if (!one->written)
        return {true, 0};
    const size_t from = (size_t)((const char *)at - one->at);
    bool known = written || !size;
    for (size_t k = from; k < from + size && !known; k++)
        known = one->written[k] || *(unsigned *)(one->at + k / 4 * 4) != __ufm_pattern(one->at + k / 4 * 4);
    for (size_t k = from; k < from + size; k++)
        one->written[k] = 1; /* what is reported is reported once */
    return {true, known ? 0 : "nobody has written the %zu bytes of CUDA's memory that it reads"};
}
#else
static void __ufm_keep_track(__ufm_memory *) {}
#endif
/* Marks of what only the process that shows the output knows, or shows elsewhere: see run_program() in cuda_program.py. */
#define __UFM_CODE "\x1e" "code %zx " __UFM_CELL "\x1f"
static bool __ufm_outside(const void *at, size_t size)
{
    const __ufm_memory *one = *__ufm_memory_of(at);
    return size && (!at || (one && (size_t)(one->at + one->size - (const char *)at) < size));
}
__UFM_HOST __ufm_allocate(void **at, size_t size)
{
    __ufm_memory *one = (__ufm_memory *)malloc(sizeof *one);
    if (!at)
        return free(one), __ufm_result(cudaErrorInvalidValue);
    if (!size)
        return free(one), *at = 0, __ufm_result(cudaSuccess);
    /* Pages that nobody touches cost calloc() nothing. */
    void *whole = size < ~(size_t)0 - 2 * __UFM_MEMORY_ALIGNED ? calloc(1, size + __UFM_MEMORY_ALIGNED + 4) : 0;
    if (!one || !whole) {
        free(one), free(whole);
        return __ufm_result(cudaErrorMemoryAllocation);
    }
    char *memory = (char *)whole + (__UFM_MEMORY_ALIGNED - (uintptr_t)whole % __UFM_MEMORY_ALIGNED);
    *one = {memory, size, __ufm_allocated, whole, 0};
    __ufm_keep_track(one);
    __ufm_allocated = one;
    *at = memory;
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaFree(void *at)
{
    if (!at)
        return __ufm_result(cudaSuccess);
    __ufm_memory **place = __ufm_memory_of(at), *one = *place;
    if (!one || one->at != at)
        return __ufm_result(cudaErrorInvalidValue);
    *place = one->next;
    free(one->whole), free(one->written), free(one);
    return __ufm_result(cudaSuccess);
}
template <class T> __UFM_HOST cudaMalloc(T **at, size_t size) { return __ufm_allocate((void **)at, size); }
__UFM_HOST cudaMalloc(decltype(nullptr), size_t) { return __ufm_result(cudaErrorInvalidValue); }
template <class T> __UFM_HOST cudaMallocHost(T **at, size_t size, unsigned = 0) { return __ufm_allocate((void **)at, size); }
template <class T> __UFM_HOST cudaHostAlloc(T **at, size_t size, unsigned = 0) { return __ufm_allocate((void **)at, size); }
template <class T> __UFM_HOST cudaMallocManaged(T **at, size_t size, unsigned = 1)
{
    return __ufm_allocate((void **)at, size);
}
template <class T> __UFM_HOST cudaMallocAsync(T **at, size_t size, cudaStream_t)
{
    return __ufm_allocate((void **)at, size);
}
template <class T> __UFM_HOST cudaMallocPitch(T **at, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return __ufm_allocate((void **)at, *pitch * height);
}
template <class T> __UFM_HOST cudaHostGetDevicePointer(T **device, void *host, unsigned = 0)
{
    *device = (T *)host;
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaFreeHost(void *at) { return cudaFree(at); }
__UFM_HOST cudaFreeAsync(void *at, cudaStream_t) { return cudaFree(at); }
__UFM_HOST cudaHostRegister(void *, size_t, unsigned = 0) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaHostUnregister(void *) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaHostGetFlags(unsigned *flags, void *) { return *flags = cudaHostAllocMapped, __ufm_result(cudaSuccess); }
__UFM_HOST cudaPointerGetAttributes(cudaPointerAttributes *all, const void *at)
{
    bool ours = *__ufm_memory_of(at);
    *all = {ours ? cudaMemoryTypeManaged : cudaMemoryTypeUnregistered, ours ? 0 : -2, ours ? (void *)at : 0, (void *)at};
    return __ufm_result(cudaSuccess);
}

__UFM_HOST cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind)
{
    if ((unsigned)kind > cudaMemcpyDefault)
        return __ufm_result(cudaErrorInvalidMemcpyDirection);
    if (size && (__ufm_outside(to, size) || __ufm_outside(from, size)))
        return __ufm_result(cudaErrorInvalidValue);
    if (!__ufm_broken && size)
        memmove(to, from, size);
    /* Compilers leave out a copy to what nobody reads; --sanitize looks at it. */
    __asm__("" : : "r"(to) : "memory");
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind, cudaStream_t = 0)
{
    return cudaMemcpy(to, from, size, kind);
}
__UFM_HOST cudaMemcpyPeer(void *to, int, const void *from, int, size_t size) { return cudaMemcpy(to, from, size, cudaMemcpyDefault); }
__UFM_HOST cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t size, cudaStream_t = 0)
{
    return cudaMemcpy(to, from, size, cudaMemcpyDefault);
}
__UFM_HOST cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                        cudaMemcpyKind kind)
{
    if (width > to_pitch || width > from_pitch)
        return __ufm_result(cudaErrorInvalidValue);
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && !error; row++)
        error = cudaMemcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind);
    return error;
}
__UFM_HOST cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                             cudaMemcpyKind kind, cudaStream_t = 0)
{
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
static inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) { return {width, height, depth}; }
static inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
static inline cudaPitchedPtr make_cudaPitchedPtr(void *at, size_t pitch, size_t width, size_t height)
{
    return {at, pitch, width, height};
}
struct cudaMemcpy3DParms {
    struct cudaArray *srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    struct cudaArray *dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};
static inline char *__ufm_row_of(const cudaPitchedPtr &in, const cudaPos &at, size_t plane)
{
    return (char *)in.ptr + ((at.z + plane) * in.ysize + at.y) * in.pitch + at.x;
}
__UFM_HOST cudaMalloc3D(cudaPitchedPtr *at, cudaExtent size)
{
    *at = {0, 0, size.width, size.height};
    return cudaMallocPitch(&at->ptr, &at->pitch, size.width, size.height * size.depth);
}
__UFM_HOST cudaMemcpy3D(const cudaMemcpy3DParms *all)
{
    if (all->srcArray || all->dstArray)
        return __ufm_result(cudaErrorNotSupported);
    cudaError_t error = cudaSuccess;
    for (size_t plane = 0; plane < all->extent.depth && !error; plane++)
        error = cudaMemcpy2D(__ufm_row_of(all->dstPtr, all->dstPos, plane), all->dstPtr.pitch,
                             __ufm_row_of(all->srcPtr, all->srcPos, plane), all->srcPtr.pitch, all->extent.width,
                             all->extent.height, all->kind);
    return error;
}
__UFM_HOST cudaMemcpy3DAsync(const cudaMemcpy3DParms *all, cudaStream_t = 0) { return cudaMemcpy3D(all); }
__UFM_HOST cudaMemset(void *at, int value, size_t size)
{
    if (size && __ufm_outside(at, size))
        return __ufm_result(cudaErrorInvalidValue);
    if (size)
        memset(at, value, size);
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaMemsetAsync(void *at, int value, size_t size, cudaStream_t = 0) { return cudaMemset(at, value, size); }
__UFM_HOST cudaMemset2D(void *at, size_t pitch, int value, size_t width, size_t height)
{
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && !error; row++)
        error = cudaMemset((char *)at + row * pitch, value, width);
    return error;
}
__UFM_HOST cudaMemset3D(cudaPitchedPtr at, int value, cudaExtent size)
{
    cudaError_t error = cudaSuccess;
    for (size_t plane = 0; plane < size.depth && !error; plane++)
        error = cudaMemset2D(__ufm_row_of(at, {0, 0, plane}, 0), at.pitch, value, size.width, size.height);
    return error;
}
template <class T>
__UFM_HOST cudaMemcpyToSymbol(T &symbol, const void *from, size_t size, size_t offset = 0,
                              cudaMemcpyKind = cudaMemcpyHostToDevice)
{
    if (offset + size > sizeof symbol)
        return __ufm_result(cudaErrorInvalidValue);
    memcpy((char *)&symbol + offset, from, size);
    return __ufm_result(cudaSuccess);
}
template <class T>
__UFM_HOST cudaMemcpyFromSymbol(void *to, T &symbol, size_t size, size_t offset = 0,
                                cudaMemcpyKind = cudaMemcpyDeviceToHost)
{
    if (offset + size > sizeof symbol)
        return __ufm_result(cudaErrorInvalidValue);
    memcpy(to, (char *)&symbol + offset, size);
    return __ufm_result(cudaSuccess);
}
template <class T>
__UFM_HOST cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t size, size_t offset = 0,
                                   cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = 0)
{
    return cudaMemcpyToSymbol(symbol, from, size, offset, kind);
}
template <class T>
__UFM_HOST cudaMemcpyFromSymbolAsync(void *to, T &symbol, size_t size, size_t offset = 0,
                                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = 0)
{
    return cudaMemcpyFromSymbol(to, symbol, size, offset, kind);
}
template <class P, class T> __UFM_HOST cudaGetSymbolAddress(P **at, T &symbol)
{
    *at = (P *)(void *)&symbol;
    return __ufm_result(cudaSuccess);
}
template <class T> __UFM_HOST cudaGetSymbolSize(size_t *size, T &symbol)
{
    *size = sizeof symbol;
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = 0) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaMemGetInfo(size_t *available, size_t *total)
{
    *total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    *available = *total / 2;
    return __ufm_result(cudaSuccess);
}

/* -------------------------------------------------------------------------------------------------------- device */

__UFM_HOST cudaDeviceSynchronize()
{
    if (__ufm_running_block) {
        __ufm_device_fault fault;
        snprintf(fault.text, sizeof fault.text, "cudaDeviceSynchronize() in a kernel, which CUDA 12 has removed: the grids "
                                                "that a kernel launches run when its own has ended.");
        throw fault;
    }
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaThreadSynchronize() { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaDeviceReset() { return __ufm_last = __ufm_broken = cudaSuccess; }
__UFM_HOST cudaGetDeviceCount(int *count) { return *count = 1, __ufm_result(cudaSuccess); }
__UFM_HOST cudaGetDevice(int *device) { return *device = 0, __ufm_result(cudaSuccess); }
__UFM_HOST cudaSetDevice(int device) { return __ufm_result(device ? cudaErrorInvalidDevice : cudaSuccess); }
__UFM_HOST cudaChooseDevice(int *device, const cudaDeviceProp *) { return *device = 0, __ufm_result(cudaSuccess); }
__UFM_HOST cudaGetDeviceFlags(unsigned *flags) { return *flags = cudaDeviceMapHost, __ufm_result(cudaSuccess); }
__UFM_HOST cudaSetDeviceFlags(unsigned) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, __ufm_result(cudaSuccess); }
__UFM_HOST cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, __ufm_result(cudaSuccess); }
__UFM_HOST cudaDeviceSetCacheConfig(cudaFuncCache) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaDeviceSetLimit(cudaLimit, size_t) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaDeviceGetLimit(size_t *value, cudaLimit) { return *value = __UFM_STACK, __ufm_result(cudaSuccess); }
__UFM_HOST cudaDeviceCanAccessPeer(int *can, int, int) { return *can = 0, __ufm_result(cudaSuccess); }
/* There is one device, and no device is a peer of itself. */
__UFM_HOST cudaDeviceEnablePeerAccess(int, unsigned) { return __ufm_result(cudaErrorInvalidDevice); }
__UFM_HOST cudaDeviceDisablePeerAccess(int) { return __ufm_result(cudaErrorPeerAccessNotEnabled); }
__UFM_HOST cudaDeviceGetPCIBusId(char *text, int length, int) { return snprintf(text, length, "0000:00:00.0"), cudaSuccess; }
__UFM_HOST cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return *least = *greatest = 0, __ufm_result(cudaSuccess);
}
__UFM_HOST cudaProfilerStart() { return cudaSuccess; }
__UFM_HOST cudaProfilerStop() { return cudaSuccess; }
__UFM_HOST cudaGetDeviceProperties(cudaDeviceProp *all, int device)
{
    if (device)
        return __ufm_result(cudaErrorInvalidDevice);
    memset((void *)all, 0, sizeof *all);
    strcpy(all->name, "CPU emulation");
    all->totalGlobalMem = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    all->sharedMemPerBlock = 49152, all->sharedMemPerBlockOptin = __UFM_MOST_SHARED, all->sharedMemPerMultiprocessor = 233472;
    all->memPitch = 0x7fffffff, all->totalConstMem = 65536, all->textureAlignment = 512;
    all->regsPerBlock = all->regsPerMultiprocessor = 65536, all->warpSize = 32;
    all->maxThreadsPerBlock = all->maxThreadsDim[0] = all->maxThreadsDim[1] = 1024, all->maxThreadsDim[2] = 64;
    all->maxGridSize[0] = 0x7fffffff, all->maxGridSize[1] = all->maxGridSize[2] = 65535;
    all->major = 9, all->multiProcessorCount = 1, all->maxThreadsPerMultiProcessor = 2048;
    all->maxBlocksPerMultiProcessor = 32, all->l2CacheSize = 1 << 20, all->memoryBusWidth = 64;
    all->clockRate = all->memoryClockRate = 1000000;
    all->integrated = all->canMapHostMemory = all->unifiedAddressing = all->managedMemory = 1;
    all->concurrentManagedAccess = all->cooperativeLaunch = all->pageableMemoryAccess = 1;
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaDeviceGetAttribute(int *value_, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp all;
    if (cudaError_t error = cudaGetDeviceProperties(&all, device))
        return error;
#define __UFM_VALUE(name, number, value) case number: *value_ = (int)(value); break;
    switch ((int)attribute) {
        __UFM_ATTRIBUTES(__UFM_VALUE)
    default: *value_ = 0; return __ufm_result(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

/* ---------------------------------------------------------------------------------------------- streams, events */

__UFM_HOST cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    return *stream = new CUstream_st{priority, flags}, __ufm_result(cudaSuccess);
}
__UFM_HOST cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
__UFM_HOST cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
__UFM_HOST cudaStreamDestroy(cudaStream_t stream)
{
    if (stream > cudaStreamPerThread)
        delete stream;
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    return *priority = stream > cudaStreamPerThread ? stream->priority : 0, __ufm_result(cudaSuccess);
}
__UFM_HOST cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    return *flags = stream > cudaStreamPerThread ? stream->flags : 0, __ufm_result(cudaSuccess);
}
__UFM_HOST cudaStreamSynchronize(cudaStream_t) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaStreamQuery(cudaStream_t) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t call, void *data) { return call(data), __ufm_result(cudaSuccess); }
__UFM_HOST cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void *data, unsigned)
{
    return call(stream, __ufm_broken, data), __ufm_result(cudaSuccess);
}
__UFM_HOST cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    return *event = new CUevent_st(), __ufm_result(cudaSuccess);
}
__UFM_HOST cudaEventCreate(cudaEvent_t *event, unsigned = 0) { return cudaEventCreateWithFlags(event, 0); }
__UFM_HOST cudaEventDestroy(cudaEvent_t event) { return delete event, __ufm_result(cudaSuccess); }
__UFM_HOST cudaEventRecord(cudaEvent_t event, cudaStream_t = 0)
{
    if (!event)
        return __ufm_result(cudaErrorInvalidResourceHandle);
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    event->recorded = true;
    return __ufm_result(cudaSuccess);
}
__UFM_HOST cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t = 0, unsigned = 0) { return cudaEventRecord(event); }
__UFM_HOST cudaStreamAttachMemAsync(cudaStream_t, void *, size_t = 0, unsigned = 4) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaEventSynchronize(cudaEvent_t) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaEventQuery(cudaEvent_t) { return __ufm_result(cudaSuccess); }
__UFM_HOST cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop)
{
    if (!start || !stop || !start->recorded || !stop->recorded)
        return __ufm_result(cudaErrorInvalidResourceHandle);
    *milliseconds = (float)((double)(stop->at.tv_sec - start->at.tv_sec) * 1e3 +
                            (double)(stop->at.tv_nsec - start->at.tv_nsec) * 1e-6);
    return __ufm_result(cudaSuccess);
}

/* ------------------------------------------------------------------------------------------------------ launches */

struct __ufm_configuration {
    dim3 grid, block;
    size_t shared;
    __ufm_configuration(dim3 blocks, dim3 threads, size_t bytes = 0, cudaStream_t = 0)
        : grid(blocks), block(threads), shared(bytes)
    {
    }
};

extern "C" {
/* The last launch's, for whoever shows how far it is. */
__UFM_SHOWN const char *__ufm_launched = "";
}

static void __ufm_launch_of(void (*call)(const void *, void **), const void *kernel, const __ufm_configuration &how,
                            void **arguments, const char *name)
{
    if (__ufm_broken)
        return;
    const unsigned grid[3] = {how.grid.x, how.grid.y, how.grid.z}, block[3] = {how.block.x, how.block.y, how.block.z};
    __ufm_launch_text[0] = 0;
#ifdef __UFM_CUDA_CHECKED__
    __ufm_stray.size = __ufm_stray.other = 0;
#endif
    __ufm_launched = name;
    bool fits = __ufm_launchable(grid, block, how.shared, 1024);
    if (fits)
        __ufm_launch_any(call, kernel, grid, block, how.shared, arguments, 1024);
    if (!__ufm_launch_text[0])
        return;
    fflush(stdout);
#ifdef __UFM_CUDA_CHECKED__
    if (__ufm_stray.size) {
        fprintf(stderr, "%s: %s" __UFM_CODE, name, __ufm_launch_text, __ufm_stray.place);
        if (__ufm_stray.other)
            fprintf(stderr, "; the other access is" __UFM_CODE, __ufm_stray.other);
        fprintf(stderr, ".\n");
    } else
#endif
        fprintf(stderr, "%s: %s\n", name, __ufm_launch_text);
    if (fits)
        __ufm_broken = strstr(__ufm_launch_text, "assertion") ? cudaErrorAssert : cudaErrorLaunchFailure;
    __ufm_last = fits ? __ufm_broken : cudaErrorInvalidConfiguration;
}
/* Grids that kernels launch (dynamic parallelism).  They run when the grid that launched them has ended, in the order of
   the launches: CUDA promises no more, since a kernel cannot wait for them. */
struct __ufm_child {
    __ufm_child *next;
    __ufm_configuration how;
    const char *name;
    __ufm_child(const __ufm_configuration &how, const char *name) : next(0), how(how), name(name) {}
    virtual ~__ufm_child() {}
    virtual void run() = 0;
};
static __ufm_child *__ufm_children, **__ufm_last_child = &__ufm_children;

template <class F> struct __ufm_child_of : __ufm_child {
    F call;
    __ufm_child_of(const __ufm_configuration &how, const char *name, const F &call) : __ufm_child(how, name), call(call) {}
    void run() override
    {
        __ufm_launch_of([](const void *kernel, void **) __UFM_UNCHECKED { (*(const F *)kernel)(); }, &call, how, 0, name);
    }
};

static void __ufm_run_children()
{
    while (__ufm_child *child = __ufm_children) {
        if (!(__ufm_children = child->next))
            __ufm_last_child = &__ufm_children;
        child->run();
        delete child;
    }
}

template <class F> static inline void __ufm_start(const char *name, const __ufm_configuration &how, F call)
{
    if (__ufm_running_block) {
        *__ufm_last_child = new __ufm_child_of<F>(how, name, call);
        __ufm_last_child = &(*__ufm_last_child)->next;
        return;
    }
    __ufm_launch_of([](const void *kernel, void **) __UFM_UNCHECKED { (*(const F *)kernel)(); }, &call, how, 0, name);
    __ufm_run_children();
}
template <class... A>
__UFM_HOST cudaLaunchKernel(void (*kernel)(A...), dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                            cudaStream_t = 0)
{
    __ufm_launch_of(__ufm_kernel_call<A...>::of, (const void *)kernel, {grid, block, shared}, arguments, "cudaLaunchKernel");
    __ufm_run_children();
    return __ufm_last;
}
template <class... A>
__UFM_HOST cudaLaunchCooperativeKernel(void (*kernel)(A...), dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                                       cudaStream_t = 0)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared);
}
struct cudaLaunchAttribute { int id; };
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
template <class... P, class... A>
__UFM_HOST cudaLaunchKernelEx(const cudaLaunchConfig_t *how, void (*kernel)(P...), A &&...arguments)
{
    std::tuple<P...> values(std::forward<A>(arguments)...);
    return std::apply(
        [&](P &...each) {
            void *pointers[] = {(void *)&each..., 0};
            return cudaLaunchKernel(kernel, how->gridDim, how->blockDim, pointers, how->dynamicSmemBytes, how->stream);
        },
        values);
}
#define __UFM_UNTYPED(name)                                                                                            \
    cudaError_t name(const void *, dim3, dim3, void **, size_t = 0, cudaStream_t = 0)                                  \
        __attribute__((__unavailable__("the emulation needs the kernel itself, and not a void * to it")))
__UFM_UNTYPED(cudaLaunchKernel);
__UFM_UNTYPED(cudaLaunchCooperativeKernel);
template <class K> __UFM_HOST cudaFuncSetAttribute(K, cudaFuncAttribute attribute, int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return __ufm_result(cudaSuccess);
    if (value > __UFM_MOST_SHARED)
        return __ufm_result(cudaErrorInvalidValue);
    if (value > 0 && (size_t)value > __ufm_most_shared)
        __ufm_most_shared = (size_t)value;
    return __ufm_result(cudaSuccess);
}
template <class K> __UFM_HOST cudaFuncSetCacheConfig(K, cudaFuncCache) { return __ufm_result(cudaSuccess); }
template <class K> __UFM_HOST cudaFuncGetAttributes(cudaFuncAttributes *all, K)
{
    *all = {0, 0, 0, 1024, 0, 0, 0, 49152};
    return __ufm_result(cudaSuccess);
}
template <class K>
__UFM_HOST cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int size, size_t, unsigned = 0)
{
    return *blocks = size > 0 ? 2048 / size : 0, __ufm_result(cudaSuccess);
}
template <class K>
__UFM_HOST cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, K, size_t = 0, int limit = 0)
{
    return *block = limit > 0 && limit < 1024 ? limit : 1024, *grid = 2, __ufm_result(cudaSuccess);
}

/* ------------------------------------------------------------------------------------------------- how it begins */

#ifdef __UFM_CUDA_CHECKED__
/* What the host does with CUDA's memory. */
__UFM_UNCHECKED static void __ufm_look_from_host(const void *at, size_t size, bool written, size_t place)
{
    static size_t told[32];
    static unsigned count;
    static bool busy;
    if (busy || !__ufm_allocated)
        return;
    busy = true;
    const __ufm_verdict verdict = __ufm_look_at_allocated(at, size, written);
    bool known = !verdict.fault || count == sizeof told / sizeof *told;
    for (unsigned k = 0; k < count && !known; k++)
        known = told[k] == place;
    if (!known) {
        told[count++] = place;
        fflush(stdout);
        fprintf(stderr, "The host: "), fprintf(stderr, verdict.fault, size), fprintf(stderr, __UFM_CODE ".\n", place);
    }
    busy = false;
}

/* Memory that kernels allocate; the linker puts these in place of the C and C++ libraries' functions. */
extern "C" {
void *__real_malloc(size_t);
void __real_free(void *);
#define __UFM_WRAPPED __attribute__((__used__, __visibility__("hidden"))) __UFM_UNCHECKED
__UFM_WRAPPED void *__wrap_malloc(size_t size)
{
    if (!__ufm_looking)
        return __real_malloc(size);
    void *at = 0;
    __ufm_looking = false, __ufm_allocate(&at, size), __ufm_looking = true;
    return at;
}
__UFM_WRAPPED void __wrap_free(void *at)
{
    const bool looking = __ufm_looking;
    __ufm_looking = false;
    if (*__ufm_memory_of(at))
        cudaFree(at);
    else
        __real_free(at);
    __ufm_looking = looking;
}
__UFM_WRAPPED void *__wrap__Znwm(size_t size)
{
    void *at = __wrap_malloc(size ? size : 1);
    return at ? at : throw std::bad_alloc();
}
__UFM_WRAPPED void *__wrap__Znam(size_t size) { return __wrap__Znwm(size); }
__UFM_WRAPPED void __wrap__ZdlPv(void *at) { __wrap_free(at); }
__UFM_WRAPPED void __wrap__ZdaPv(void *at) { __wrap_free(at); }
__UFM_WRAPPED void __wrap__ZdlPvm(void *at, size_t) { __wrap_free(at); }
__UFM_WRAPPED void __wrap__ZdaPvm(void *at, size_t) { __wrap_free(at); }
}
#endif

/* A fault of a kernel ends the program, as its own would; this says which thread it was. */
static void __ufm_died(int number, siginfo_t *, void *context)
{
#if __UFM_OFFERS_BLOCKS
    if (__ufm_running_block && __ufm_whole.taken)
        __builtin_longjmp(__ufm_running_block->jump, 1);
#endif
    char text[300];
    const uint3 t = threadIdx, b = blockIdx;
    size_t place = 0;
#if defined __x86_64__ && defined __linux__
    place = (size_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] + 1 - (size_t)__ehdr_start;
#elif defined __aarch64__ && defined __linux__
    place = (size_t)((const ucontext_t *)context)->uc_mcontext.pc + 1 - (size_t)__ehdr_start;
#endif
    (void)context;
    int length = snprintf(text, sizeof text, "Thread (%u, %u, %u) of block (%u, %u, %u) of a kernel: %s" __UFM_CODE ".\n", t.x,
                          t.y, t.z, b.x, b.y, b.z, number == SIGFPE ? "an integer was divided by 0" : "a wrong address", place);
    if (__ufm_running_block && length > 0 && write(2, text, (size_t)length) < 0)
        length = 0;
    signal(number, SIG_DFL);
    raise(number);
}
__attribute__((__constructor__)) static void __ufm_begin_program()
{
    static char stack[1 << 16], lines[1 << 12];
    stack_t other = {};
    other.ss_sp = stack, other.ss_size = sizeof stack;
    sigaltstack(&other, 0);
    struct sigaction action = {};
    action.sa_sigaction = __ufm_died, action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO;
    sigaction(SIGSEGV, &action, 0), sigaction(SIGBUS, &action, 0), sigaction(SIGFPE, &action, 0);
    /* Of our own: under PYTHONUNBUFFERED the one there has room for one character. */
    setvbuf(stdout, lines, _IOLBF, sizeof lines);
#ifdef __UFM_CUDA_CHECKED__
    __ufm_look_at_memory = __ufm_look_at_allocated, __ufm_look_at_host = __ufm_look_from_host;
#endif
}

#endif
