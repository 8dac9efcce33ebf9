#include "work_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include <ffkit/format/error.h>

#include "metrics_log.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "epoch-";
constexpr std::string_view kSuffix = ".safetensors";

// The epoch in the name of a checkpoint, or -1 for any other name.
int64_t epoch_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size() - kSuffix.size();
  int64_t epoch = -1;
  const auto [rest, error] = std::from_chars(begin, end, epoch);
  return error == std::errc() && rest == end ? epoch : -1;
}

}  // namespace

std::vector<CheckpointFile> list_checkpoints(const fs::path& folder) {
  std::vector<CheckpointFile> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const int64_t epoch = epoch_of(it->path().filename().string());
    if (epoch >= 0) files.push_back({epoch, it->path()});
  }
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.epoch < b.epoch; });
  return files;
}

fs::path resolve_checkpoint(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  const std::vector<CheckpointFile> files = list_checkpoints(path);
  if (files.empty()) {
    throw Error(ErrorCode::not_found, "the folder holds no checkpoint (epoch-*.safetensors)",
                {.path = path.string()});
  }
  return files.back().path;
}

WorkDir WorkDir::create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io, "cannot make the work folder",
                {.path = folder.string(), .errno_value = error.value()});
  }
  if (!list_checkpoints(folder).empty() || fs::exists(folder / kMetricsName)) {
    throw Error(ErrorCode::invalid_argument,
                "the work folder holds another run; go on with it by --resume, or give an empty "
                "--work-dir",
                {.path = folder.string()});
  }
  return WorkDir(folder);
}

WorkDir WorkDir::reopen(const fs::path& folder, const fs::path& checkpoint) {
  std::error_code ignored;
  if (!fs::equivalent(folder, checkpoint.parent_path().empty() ? "." : checkpoint.parent_path(),
                      ignored)) {
    return create(folder);
  }
  const std::vector<CheckpointFile> files = list_checkpoints(folder);
  if (!files.empty() && !fs::equivalent(files.back().path, checkpoint, ignored)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the work folder holds a later checkpoint, {}; resume from that, or give "
                    "an empty --work-dir",
                    files.back().path.filename().string()),
        {.path = folder.string()});
  }
  return WorkDir(folder);
}

fs::path WorkDir::checkpoint_path(int64_t epoch) const {
  return folder_ / fmt::format("{}{:04}{}", kPrefix, epoch, kSuffix);
}

void WorkDir::prune(int64_t num_kept, int64_t best_epoch) const {
  if (num_kept == 0) return;
  const std::vector<CheckpointFile> files = list_checkpoints(folder_);
  for (size_t i = 0; i + size_t(num_kept) < files.size(); ++i) {
    if (files[i].epoch == best_epoch) continue;
    std::error_code error;
    fs::remove(files[i].path, error);
    if (error) {
      throw Error(ErrorCode::io, "cannot delete an old checkpoint",
                  {.path = files[i].path.string(), .errno_value = error.value()});
    }
  }
}

}  // namespace ffkit
