#include "export/shard_file.h"

#include <ffkit/base/error.h>

#include "tools/common/output_file.h"

namespace ffkit {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

// Calls `write`, whose errors get the words of all output files.
template <typename Write>
void write_or_fail(const std::filesystem::path& path, const Write& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.context().errno_value == 0) throw;
    fail_writing(path, error.context().errno_value);
  }
}

}  // namespace

ShardFile::ShardFile(const std::filesystem::path& path) : file_(File::create(path)) {
  buffer_.reserve(kPieceBytes);
}

void ShardFile::write(std::span<const std::byte> data) {
  num_bytes_ += std::ssize(data);
  if (buffer_.size() + data.size() > kPieceBytes) flush();
  if (data.size() < kPieceBytes) {
    buffer_.insert(buffer_.end(), data.begin(), data.end());
  } else {
    write_or_fail(file_.path(), [&] { file_.write(data); });
  }
}

void ShardFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void ShardFile::flush() {
  write_or_fail(file_.path(), [&] { file_.write(buffer_); });
  buffer_.clear();
}

void ShardFile::close() {
  flush();
  write_or_fail(file_.path(), [&] { file_.close(); });
}

}  // namespace ffkit
