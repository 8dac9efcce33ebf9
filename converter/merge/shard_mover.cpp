#include "merge/shard_mover.h"

#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <system_error>

#include "base/file/file.h"
#include "base/make_error.h"
#include "input/cancel.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCopyBytes = 4 << 20;

// Errors of link(2) that say that here there are no links, not that something is wrong.
bool means_no_links(const std::error_code& error) {
  return error == std::errc::cross_device_link || error == std::errc::operation_not_permitted ||
         error == std::errc::operation_not_supported || error == std::errc::too_many_links ||
         error == std::errc::function_not_supported;
}

}  // namespace

ShardMover::~ShardMover() {
  std::error_code ignored;
  std::ranges::for_each(made_.rbegin(), made_.rend(),
                        [&](const fs::path& path) { fs::remove(path, ignored); });
}

void ShardMover::make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::create_directory(folder, error)) made_.push_back(folder);
  require_done(error, folder, "the folder cannot be created");
}

void ShardMover::bring(const fs::path& from, const fs::path& to) {
  throw_if_cancelled(options_.cancel);
  if (options_.transfer != ShardTransfer::copy) {
    std::error_code error;
    // Not the link itself where a shard is a symbolic link.
    fs::create_hard_link(fs::canonical(from), to, error);
    if (!error) {
      made_.push_back(to);
      return;
    }
    if (!means_no_links(error)) {
      throw io_error_at(from, fmt::format("cannot be linked to {}", to.string()), error.value());
    }
    if (noted_.insert(from.parent_path()).second && options_.note) {
      options_.note(fmt::format("{}: shards cannot be linked to {} ({}); they are copied",
                                from.parent_path().string(), to.parent_path().string(),
                                error.message()));
    }
  }
  copy(from, to);
}

void ShardMover::keep(const fs::path& folder) {
  std::erase_if(
      made_, [&](const fs::path& path) { return path == folder || path.parent_path() == folder; });
}

bool ShardMover::will_copy(const fs::path& from, const fs::path& folder) const {
  if (options_.transfer == ShardTransfer::copy) return true;
  struct stat a {};
  struct stat b {};
  return ::stat(from.c_str(), &a) == 0 && ::stat(folder.c_str(), &b) == 0 && a.st_dev != b.st_dev;
}

void ShardMover::copy(const fs::path& from, const fs::path& to) {
  fs::path temporary = to;
  temporary += ".tmp";
  const File source = File::open_for_reading(from);
  File target = File::create(temporary);
  made_.push_back(temporary);
  const int64_t size = source.size();
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(size, kCopyBytes)));
  for (int64_t done = 0; done < size;) {
    throw_if_cancelled(options_.cancel);
    const auto piece =
        std::span(buffer).first(static_cast<size_t>(std::min(size - done, kCopyBytes)));
    source.read_at(done, piece);
    target.write(piece);
    done += static_cast<int64_t>(piece.size());
  }
  target.sync();
  target.close();
  rename_file(temporary, to);
  made_.back() = to;
}

}  // namespace ffkit
