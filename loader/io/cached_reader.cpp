#include "io/cached_reader.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <exception>
#include <future>
#include <utility>

#include "io/kernel_read_engine.h"

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

CachedReader::CachedReader(const ShardFiles& files, const IoOptions& options, StatsCounters& stats)
    : files_(files),
      options_(options),
      stats_(stats),
      is_on_(options.decoders_read_cache && !files.direct()) {}

bool CachedReader::holds(int descriptor, int64_t offset, int64_t num_bytes) {
  if (!is_on_ || descriptor < 0) return false;
  char last = 0;
  iovec target{.iov_base = &last, .iov_len = 1};
  const ssize_t result = preadv2(descriptor, &target, 1, offset + num_bytes - 1, RWF_NOWAIT);
  // The file system, or the kernel, cannot tell.
  if (result < 0 && errno == EOPNOTSUPP) is_on_ = false;
  return result == 1;
}

namespace {

// The cache has given it up since.
std::span<const std::byte> read_elsewhere(const ShardReader::OpenFile& file,
                                          const Dataset::Location& location,
                                          std::span<std::byte> out) {
  std::promise<std::exception_ptr> answer;
  file.read(location.record.offset, out,
            [&answer](std::exception_ptr error) { answer.set_value(std::move(error)); });
  if (std::exception_ptr error = answer.get_future().get()) std::rethrow_exception(error);
  return out;
}

}  // namespace

std::span<const std::byte> CachedReader::read(const Dataset::Location& location,
                                              std::vector<std::byte>& buffer) const {
  const RecordLocation& record = location.record;
  const auto num_bytes = static_cast<size_t>(record.stored_bytes);
  if (buffer.size() < num_bytes) buffer.resize(num_bytes);
  const auto shard = static_cast<size_t>(location.shard_index);
  const ShardReader::OpenFile file = files_.lease(shard, record.offset, record.stored_bytes);
  if (file.descriptor < 0)
    return read_elsewhere(file, location, std::span(buffer).first(num_bytes));
  const int64_t begin = now_ns();
  const ReadEngineOptions engine{.num_retries = options_.num_retries};
  ReadProgress progress({.offset = record.offset, .num_bytes = num_bytes, .buffer = buffer.data()});
  int64_t result = 0;
  do {
    result = pread(file.descriptor, progress.buffer(), progress.num_bytes(), progress.offset());
  } while (!progress.advance(result < 0 ? -errno : result, engine));
  result = progress.completion().result;
  stats_.add_read(begin, result, file);
  if (result < record.stored_bytes) {
    throw read_error(files_.path(shard), location, record.stored_bytes, result,
                     record.stored_bytes - result);
  }
  return std::span(buffer).first(num_bytes);
}

}  // namespace ffkit
