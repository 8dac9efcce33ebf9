#include "io/read_error.h"

#include <errno.h>
#include <fmt/format.h>

namespace ffkit {

Error read_error(const std::filesystem::path& path, const Dataset::Location& location,
                 int64_t num_bytes, int64_t result, int64_t num_missing) {
  const bool failed = result < 0;
  const bool is_about_file = result != -EIO && result != -ENOMEM;
  const std::string message =
      failed ? fmt::format("reading {} bytes failed", num_bytes)
             : fmt::format(
                   "the file ends {} bytes before the end of the record; it was cut while in use, "
                   "copy or convert it again",
                   num_missing);
  return {ErrorCode::io, message,
          ErrorContext{.path = path.string(),
                       .record = location.local_index,
                       .offset = location.record.offset,
                       .errno_value = failed ? static_cast<int>(-result) : 0,
                       .subject = is_about_file ? ErrorSubject::shard : ErrorSubject::sample}};
}

}  // namespace ffkit
