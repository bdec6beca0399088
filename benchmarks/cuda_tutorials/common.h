// What the programs of this folder share, as the helper header of a tutorial does.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));                 \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

template <class T> T *to_device(const std::vector<T> &h)
{
    T *d;
    CHECK(cudaMalloc(&d, h.size() * sizeof(T)));
    CHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

template <class T> std::vector<T> to_host(const T *d, size_t n)
{
    std::vector<T> h(n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
}

template <class T> std::vector<T> numbers(int n, unsigned seed = 1)
{
    std::vector<T> x(n);
    for (auto &v : x) v = (T)((seed = seed * 1664525u + 1013904223u) >> 20) / 16;
    return x;
}

inline bool near(double a, double b) { return fabs(a - b) <= 1e-3 * (1 + fabs(b)); }

inline int verdict(bool good)
{
    puts(good ? "ok" : "WRONG");
    return !good;
}
