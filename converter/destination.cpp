#include "destination.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>

#include "format/file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kV1Meta = "meta.pkl";

[[noreturn]] void io_error(const char* message, const fs::path& path, int error) {
  throw Error(ErrorCode::io, message, {.path = path.string(), .errno_value = error});
}

bool is_split_file(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const bool is_shard =
      (name.starts_with("shard-") || name.starts_with("PART_")) && name.ends_with(".ffr");
  return entry.symlink_status().type() == fs::file_type::regular &&
         (is_shard || name.ends_with(".tmp") || name == "manifest.json");
}

bool is_top_file(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return entry.symlink_status().type() == fs::file_type::regular &&
         (name == kUnfinishedMarker || name == Destination::kReport || name == kV1Meta ||
          name.ends_with(".tmp"));
}

bool holds_marker(const fs::path& folder) {
  return fs::exists(fs::symlink_status(folder / kUnfinishedMarker));
}

constexpr std::string_view kMarkerText =
    "A conversion is writing this data set, or has ended before it was done: it is not complete.\n"
    "The same command with --resume goes on with it; without, it starts over.\n";
constexpr std::string_view kPlanKey = "plan ";

// The word behind kPlanKey in a marker.
std::string read_plan(int fd) {
  std::string text(1024, '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<size_t>(n));
  const size_t key = text.find("\n" + std::string(kPlanKey));
  if (key == std::string::npos) return {};
  const size_t begin = key + 1 + kPlanKey.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// What lies in a claimed folder, sorted into what a conversion makes and the first thing that it
// does not.
struct Contents {
  std::vector<fs::path> files;    // without the marker
  std::vector<fs::path> folders;  // of splits
  fs::path foreign;
};

Contents list_contents(const fs::path& folder) {
  Contents contents;
  const auto foreign = [&contents](const fs::path& path) {
    if (contents.foreign.empty()) contents.foreign = path;
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() == kUnfinishedMarker) continue;
    if (is_top_file(entry)) {
      contents.files.push_back(entry.path());
    } else if (entry.symlink_status().type() == fs::file_type::directory) {
      bool is_ours = true;
      for (const fs::directory_entry& inner : fs::directory_iterator(entry.path())) {
        if (is_split_file(inner)) {
          contents.files.push_back(inner.path());
        } else {
          foreign(inner.path());
          is_ours = false;
        }
      }
      if (is_ours) contents.folders.push_back(entry.path());
    } else {
      foreign(entry.path());
    }
  }
  return contents;
}

void remove_contents(const Contents& contents) {
  for (const fs::path& file : contents.files) fs::remove(file);
  for (const fs::path& folder : contents.folders) fs::remove(folder);
}

}  // namespace

void Destination::require_usable(const fs::path& folder) {
  if (!fs::exists(folder)) return;
  if (!fs::is_directory(folder)) {
    throw Error(ErrorCode::invalid_argument, "exists and is not a folder",
                {.path = folder.string()});
  }
  if (holds_marker(folder) || fs::is_empty(folder)) return;
  const std::vector<std::string> splits = list_splits(folder);
  throw Error(ErrorCode::invalid_argument,
              splits.empty() ? "the folder is not empty; give a new or an empty one"
                             : fmt::format("already holds a data set (split '{}'); remove it or "
                                           "give another folder",
                                           splits.front()),
              {.path = folder.string()});
}

Destination::Destination(const fs::path& folder, Unfinished unfinished)
    : folder_(fs::weakly_canonical(fs::absolute(folder))), unfinished_(unfinished) {
  if (!folder_.has_filename()) folder_ = folder_.parent_path();  // a trailing slash
  try {
    make_folders();
    require_usable(folder_);
    const bool has_marker = holds_marker(folder_);
    lock_marker();
    const Contents contents = list_contents(folder_);
    if (!contents.foreign.empty()) {
      if (!has_marker)
        fs::remove(folder_ / kUnfinishedMarker);  // another put something here this very moment
      owns_marker_ = false;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("holds an unfinished conversion, but also something else: '{}'; "
                              "move that away or give another folder",
                              contents.foreign.lexically_relative(folder_).string()),
                  {.path = folder_.string()});
    }
    found_unfinished_ = has_marker;
    if (unfinished_ == Unfinished::remove) {
      remove_contents(contents);
      if (!found_plan_.empty()) set_plan("");  // what it was a plan of is gone
    }
  } catch (const fs::filesystem_error& error) {
    roll_back();
    io_error("cannot be prepared", error.path1().empty() ? folder_ : error.path1(),
             error.code().value());
  } catch (...) {
    roll_back();
    throw;
  }
}

Destination::~Destination() {
  roll_back();
}

fs::path Destination::report_path() const {
  return folder_ / kReport;
}

fs::path Destination::v1_meta_path() const {
  return folder_ / kV1Meta;
}

void Destination::make_folders() {
  std::vector<fs::path> missing;
  for (fs::path path = folder_; !fs::exists(path); path = path.parent_path()) {
    missing.push_back(path);
  }
  std::ranges::reverse(missing);
  for (const fs::path& path : missing) {
    // A folder that appeared meanwhile is another's: not ours to remove.
    if (fs::create_directory(path)) made_folders_.push_back(path);
  }
}

void Destination::lock_marker() {
  const fs::path marker = folder_ / kUnfinishedMarker;
  marker_fd_ = ::open(marker.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (marker_fd_ < 0) io_error("cannot be created", marker, errno);
  if (::flock(marker_fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) io_error("cannot be locked", marker, errno);
    throw Error(ErrorCode::invalid_argument,
                "another conversion is writing to this folder; wait for it or give another folder",
                {.path = folder_.string()});
  }
  // Whoever held the lock before may have finished and removed the file that we locked.
  struct stat locked {};
  struct stat named {};
  if (::fstat(marker_fd_, &locked) != 0 || ::lstat(marker.c_str(), &named) != 0 ||
      locked.st_ino != named.st_ino || locked.st_dev != named.st_dev) {
    throw Error(ErrorCode::invalid_argument,
                "another conversion has just finished in this folder; give another folder",
                {.path = folder_.string()});
  }
  owns_marker_ = true;
  found_plan_ = read_plan(marker_fd_);
  if (found_plan_.empty()) set_plan("");
  sync_folder(folder_);
}

void Destination::set_plan(const std::string& plan) {
  const fs::path marker = folder_ / kUnfinishedMarker;
  const std::string text = std::string(kMarkerText) + std::string(kPlanKey) + plan + "\n";
  if (::ftruncate(marker_fd_, 0) != 0 ||
      ::pwrite(marker_fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    io_error("cannot be written", marker, errno);
  }
  if (::fsync(marker_fd_) != 0) io_error("fsync failed", marker, errno);
}

int64_t Destination::num_shards() const {
  int64_t num_shards = 0;
  for (const fs::path& file : list_contents(folder_).files) {
    if (file.extension() == ".ffr") ++num_shards;
  }
  return num_shards;
}

void Destination::keep() {
  owns_marker_ = false;
  made_folders_.clear();
  ::close(std::exchange(marker_fd_, -1));
}

void Destination::commit() {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    if (entry.is_directory()) sync_folder(entry.path());
  }
  sync_folder(folder_);
  const fs::path marker = folder_ / kUnfinishedMarker;
  if (::unlink(marker.c_str()) != 0) io_error("cannot be removed", marker, errno);
  owns_marker_ = false;
  made_folders_.clear();
  ::close(std::exchange(marker_fd_, -1));
  sync_folder(folder_);
  sync_folder(folder_.parent_path());
}

void Destination::roll_back() noexcept {
  std::error_code ignored;
  if (owns_marker_) {
    try {
      remove_contents(list_contents(folder_));
      fs::remove(folder_ / kUnfinishedMarker);
    } catch (const std::exception&) {
      // The marker stays: readers refuse what is left, and the next conversion removes it.
    }
    owns_marker_ = false;
  }
  if (marker_fd_ >= 0) ::close(std::exchange(marker_fd_, -1));
  for (auto folder = made_folders_.rbegin(); folder != made_folders_.rend(); ++folder) {
    fs::remove(*folder, ignored);  // only when it is empty
  }
  made_folders_.clear();
}

}  // namespace ffkit
