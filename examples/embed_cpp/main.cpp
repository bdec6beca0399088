// image_filter [--gpu] [height width]: filters a picture through Python and checks every pixel against C++.
#include "image_filter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace um = ufunc_magic;

namespace {

constexpr float contrast = 1.5F;

std::vector<float> picture(std::ptrdiff_t height, std::ptrdiff_t width)
{
    std::vector<float> pixels(static_cast<std::size_t>(height * width));
    for (std::size_t n = 0; n < pixels.size(); ++n) pixels[n] = static_cast<float>(n * 7 % 101) / 100;
    return pixels;
}

float expected(const std::vector<float> &image, std::ptrdiff_t y, std::ptrdiff_t x, std::ptrdiff_t height,
               std::ptrdiff_t width)
{
    const auto at = [&](std::ptrdiff_t row, std::ptrdiff_t column) {
        return image[static_cast<std::size_t>(row * width + column)];
    };
    float value = at(y, x);
    if (y > 0 && y < height - 1 && x > 0 && x < width - 1)
        value = (value + at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1)) * 0.2F;
    return std::clamp((value - 0.5F) * contrast + 0.5F, 0.0F, 1.0F);
}

int differences(const std::vector<float> &image, const float *made, std::ptrdiff_t height, std::ptrdiff_t width)
{
    int wrong = 0;
    for (std::ptrdiff_t y = 0; y < height; ++y)
        for (std::ptrdiff_t x = 0; x < width; ++x)
            wrong += !(std::fabs(made[y * width + x] - expected(image, y, x, height, width)) < 1e-6F);
    return wrong;
}

/// On the GPU.  A program with device memory of its own passes that; this one borrows CuPy's, so that it builds
/// without CUDA.
std::vector<float> filtered_on_gpu(const std::vector<float> &image, std::ptrdiff_t height, std::ptrdiff_t width)
{
    const image_filter filter(true, contrast);
    const um::object room = um::import("cupy").attr("empty")(height * width, "float32");
    room.attr("set")(um::host(image.data(), {height * width}));
    const auto made = filter.on_device(room.device<float>().data(), height, width);
    std::vector<float> back(image.size());
    um::as_object(um::device(made.data(), {height, width})).attr("get")(um::named("out", um::host(back.data(), {height, width})));
    return back;
}

} // namespace

int main(int count, char **words)
{
    const bool gpu = count > 1 && !std::strcmp(words[1], "--gpu");
    const int sizes = gpu ? 2 : 1;
    const std::ptrdiff_t height = count > sizes ? std::atol(words[sizes]) : 512;
    const std::ptrdiff_t width = count > sizes + 1 ? std::atol(words[sizes + 1]) : 512;
    try {
        um::start_options options;
        options.executable = PYTHON_EXECUTABLE;
        options.path = {FILTERS_FOLDER};
        const um::interpreter python(options);

        const std::vector<float> image = picture(height, width);
        int wrong = 0;
        if (gpu) wrong = differences(image, filtered_on_gpu(image, height, width).data(), height, width);
        else {
            const auto made = image_filter(false, contrast).on_host(image.data(), height, width);
            wrong = differences(image, made.data(), height, width);
        }
        std::printf("%td x %td on the %s: %d pixels differ\n", height, width, gpu ? "GPU" : "CPU", wrong);
        return wrong ? 1 : 0;
    } catch (const um::python_error &fault) {
        std::fprintf(stderr, "%s", fault.traceback().c_str());
    } catch (const um::error &fault) {
        std::fprintf(stderr, "%s\n", fault.what());
    }
    return 2;
}
