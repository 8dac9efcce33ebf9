// LoaderOptions as a loader takes them.
#pragma once

#include <ffkit/loader/loader_options.h>

namespace ffkit {

// `options`, with what the caller left to the loader filled in: num_threads, allocator, and what
// io.make_engine decides. Throws Error(invalid_argument) for values out of range; those of the
// sampler, the picture options and the mixing are checked where they are used.
LoaderOptions check_options(LoaderOptions options);

}  // namespace ffkit
