// <tbb/parallel_pipeline.h>. TBB 2020, which Rocky 9 has, calls the header and the modes otherwise.
#pragma once

#if __has_include(<tbb/parallel_pipeline.h>)
#include <tbb/parallel_pipeline.h>
#else
#include <tbb/pipeline.h>

namespace tbb {

struct filter_mode {
  static constexpr filter::mode parallel = filter::parallel;
  static constexpr filter::mode serial_in_order = filter::serial_in_order;
};

}  // namespace tbb
#endif
