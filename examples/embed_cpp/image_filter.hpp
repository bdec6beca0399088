// An image filter of a C++ program whose work is a Python class: pixels go there and come back without a copy.
#pragma once

#include <ufunc_magic/embed.hpp>

#include <cstddef>

class image_filter {
public:
    /// gpu: images are device memory, and CuPy works on them; else host memory and NumPy.
    image_filter(bool gpu, double contrast)
        : filter(ufunc_magic::import("filters").attr("Filter")(ufunc_magic::named("gpu", gpu),
                                                               ufunc_magic::named("contrast", contrast)))
    {
    }

    /// The filtered image; its memory is NumPy's and lives as long as the answer.
    ufunc_magic::host_array<const float> on_host(const float *pixels, std::ptrdiff_t height, std::ptrdiff_t width) const
    {
        return filter(ufunc_magic::host(pixels, {height, width})).host<const float>();
    }

    /// The same on the GPU: a device pointer, of cudaMalloc for instance, and one back.
    ufunc_magic::device_array<float> on_device(float *pixels, std::ptrdiff_t height, std::ptrdiff_t width) const
    {
        return filter(ufunc_magic::device(pixels, {height, width})).device<float>();
    }

private:
    ufunc_magic::object filter;
};
