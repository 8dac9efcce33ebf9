// What is said of a record that could not be read.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>

namespace ffkit {

// A read of `num_bytes` for the record at `location` ended with `result`: -errno, or bytes, of
// which the record lacks `num_missing`.
Error read_error(const std::filesystem::path& path, const Dataset::Location& location,
                 int64_t num_bytes, int64_t result, int64_t num_missing);

}  // namespace ffkit
