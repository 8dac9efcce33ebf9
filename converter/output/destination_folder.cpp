#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>

#include "base/file/file.h"
#include "base/file/file_lock.h"
#include "base/make_error.h"
#include "output/destination.h"
#include "output/own_names.h"

namespace ffkit {
namespace {

bool holds_marker(const fs::path& folder) {
  return fs::exists(fs::symlink_status(folder / kUnfinishedMarker));
}

// But for the files of those who use it.
bool holds_nothing(const fs::path& folder) {
  return std::all_of(
      fs::directory_iterator(folder), fs::directory_iterator(),
      [](const fs::directory_entry& entry) { return ClaimFile::is_claim(entry.path()); });
}

UnfinishedMarker read_marker(int fd) {
  std::string text(size_t{1} << 16, '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return parse_unfinished_marker(text);
}

WorkThere list_work(const fs::path& folder, Destination::Kind kind) {
  const bool is_split = kind == Destination::Kind::split;
  WorkThere there;
  const auto foreign = [&](const fs::path& path) {
    if (there.foreign.empty()) there.foreign = path.lexically_relative(folder);
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const std::string name = path.filename().string();
    if (name == kUnfinishedMarker || ClaimFile::is_claim(path)) continue;
    const fs::file_type type = entry.symlink_status().type();
    if (type == fs::file_type::not_found) continue;  // removed since it was listed
    if (type == fs::file_type::regular &&
        (is_name_in_data_set(name) || (is_split && is_name_in_split(name)))) {
      there.files.push_back(name);
    } else if (type == fs::file_type::directory) {
      bool is_ours = true;
      for (const fs::directory_entry& inner : fs::directory_iterator(path)) {
        const fs::file_type inner_type = inner.symlink_status().type();
        if (inner_type == fs::file_type::not_found) continue;
        if (inner_type == fs::file_type::regular &&
            is_name_in_split(inner.path().filename().string())) {
          there.files.push_back(inner.path().lexically_relative(folder));
        } else {
          foreign(inner.path());
          is_ours = false;
        }
      }
      if (is_ours) there.folders.push_back(name);
    } else {
      foreign(path);
    }
  }
  return there;
}

// The folder while it is being made; `marker_` is locked meanwhile. After kill -9 the marker stays;
// the next claim finds it unlocked.
class DestinationFolder : public Destination {
 public:
  DestinationFolder(const fs::path& folder, Claim claim) : Destination(std::move(claim)) {
    refuse_dangling_destination(folder);
    folder_ = fs::weakly_canonical(fs::absolute(folder));
    if (!folder_.has_filename()) folder_ = folder_.parent_path();  // a trailing slash
    try {
      make_folders();
      lock_marker();
      take_over();
      require_renames();
      is_claimed_ = true;
      if (claim_.note && !lock_note_.empty()) {
        claim_.note(fmt::format("{}: {}", folder_.string(), lock_note_));
      }
    } catch (const fs::filesystem_error& error) {
      give_back();
      throw io_error_at(error.path1().empty() ? folder_ : error.path1(),
                        "the folder cannot be prepared", error.code().value());
    } catch (...) {
      give_back();
      throw;
    }
  }

  ~DestinationFolder() override {
    if (!is_claimed_) return;
    bool is_kept = claim_.kind == Kind::conversion;
    try {
      is_kept = is_kept && holds_work();
    } catch (...) {
      // What cannot be listed is not removed either.
    }
    if (is_kept) {
      keep();
    } else {
      roll_back();
    }
  }

  fs::path shards_folder(const std::string& split) const override { return folder_ / split; }
  void set_shards(std::vector<Shards>, const std::string&) override {}
  int64_t num_shards() const override { return list().num_shards(); }
  bool holds_work() const override { return list().holds_work(); }

  void set_plan(const std::string& plan) override {
    const fs::path marker = folder_ / kUnfinishedMarker;
    const std::string text = text_of_marker(plan);
    // In this order: a marker without a plan would vouch for any conversion.
    if (::pwrite(marker_.fd(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
        ::ftruncate(marker_.fd(), static_cast<off_t>(text.size())) != 0) {
      throw io_error_at(marker, "cannot be written", errno);
    }
    if (::fsync(marker_.fd()) == 0) return;
    if (!has_no_fsync(errno)) throw io_error_at(marker, "fsync failed", errno);
    const int error = errno;
    if (claim_.note && !std::exchange(has_noted_fsync_, true)) {
      claim_.note(
          fmt::format("{}: its file system has no fsync ({}), so a power failure may destroy files "
                      "that were reported as finished",
                      folder_.string(), std::strerror(error)));
    }
  }

  void require_held() override {}  // the system keeps the lock
  void commit() override {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
      if (entry.is_directory()) sync_folder(entry.path());
    }
    sync_folder(folder_);
    const fs::path marker = folder_ / kUnfinishedMarker;
    if (::unlink(marker.c_str()) != 0) throw io_error_at(marker, "cannot be removed", errno);
    is_claimed_ = false;
    marker_.close();
    claim_file_.release();
    sync_folder(folder_);
    sync_folder(folder_.parent_path());
    for (const fs::path& made : made_folders_) sync_folder(made.parent_path());
  }

  void keep() override {
    is_claimed_ = false;
    marker_.close();
    claim_file_.release();
  }

 private:
  WorkThere list() const { return list_work(folder_, claim_.kind); }

  void remove(const WorkThere& there) const {
    for (const std::string& file : there.files) fs::remove(folder_ / file);
    for (const std::string& folder : there.folders) fs::remove(folder_ / folder);
  }

  void make_folders() {
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

  void lock_marker() {
    // Another process that makes a marker, or commits, between two steps makes it necessary to look
    // again.
    while (!try_lock_marker()) {
      marker_.close();
      claim_file_.release();
    }
  }

  // Opens the marker, or creates it where there is none. Opening and creating are separate calls,
  // so a finished data set is never mistaken for an unfinished one. Returns false when another
  // process created or removed the marker between the two.
  bool try_lock_marker() {
    const fs::path marker = folder_ / kUnfinishedMarker;
    require_usable_folder(folder_, claim_.kind);
    // Before a marker is made for nothing.
    const ClaimFile::User user = ClaimFile::user_of(folder_, FileLock::Mode::exclusive);
    if (user.is_anybody()) refuse_user(user);
    constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    made_marker_ = false;
    marker_ = FileLock(::open(marker.c_str(), kFlags));
    if (!marker_.is_open() && errno == ENOENT) {
      require_usable_folder(folder_, claim_.kind);  // now that no marker says that it is unfinished
      marker_ = FileLock(::open(marker.c_str(), kFlags | O_CREAT | O_EXCL, 0644));
      made_marker_ = marker_.is_open();
      if (!made_marker_ && errno == EEXIST) return false;
    }
    if (!marker_.is_open()) throw io_error_at(marker, "the file cannot be created", errno);
    FolderHold hold;
    try {
      hold = hold_folder(folder_, FileLock::Mode::exclusive, marker_, claim_file_);
    } catch (...) {
      if (made_marker_) ::unlink(marker.c_str());
      made_marker_ = false;
      throw;
    }
    if (!hold.is_taken) {
      made_marker_ = false;  // it is the other's
      refuse_user(hold.user);
    }
    lock_note_ = std::move(hold.note);
    // Whoever held the lock before may have finished and removed the file that we locked.
    if (!is_open_file_at(marker, marker_.fd())) return false;
    // A data set was finished, or another program put something here, in the moment before the
    // marker was made.
    if (!made_marker_ || list().is_empty()) return true;
    ::unlink(marker.c_str());
    made_marker_ = false;
    return false;
  }

  void refuse_user(const ClaimFile::User& user) const {
    throw error_at(folder_, ErrorCode::invalid_argument,
                   "{} is writing to this folder; wait for it or give another folder{}",
                   in_use_by(user, "another conversion"), remedy_for(user));
  }

  // With the lock: looks at what is there, and removes it where that is wanted.
  void take_over() {
    const WorkThere there = list();
    found_ = read_marker(marker_.fd());
    found_unfinished_ = !made_marker_ && (!there.is_empty() || !found_.kind.empty());
    if (judge_found(there.foreign, there.holds_work())) {
      remove(there);
      set_plan("");  // what the marker was a plan of is gone
    }
    sync_folder(folder_);
  }

  // Shards get their names when they are complete. Mounted object stores cannot rename: said before
  // the work, not after it.
  void require_renames() const {
    const fs::path before = folder_ / "before.tmp";
    const fs::path after = folder_ / "after.tmp";
    const bool is_of_folders = claim_.kind == Kind::v1;
    std::error_code ignored;
    if (is_of_folders) {
      fs::create_directory(before);
    } else {
      File::create(before).close();
    }
    const int error = ::rename(before.c_str(), after.c_str()) == 0 ? 0 : errno;
    fs::remove(before, ignored);
    fs::remove(after, ignored);
    if (error == 0) return;
    // A disk that fails, rather than one that knows no renames.
    constexpr std::array kFaults = {EIO, ENOSPC, EDQUOT, EROFS, ESTALE, ETIMEDOUT, ENOMEM};
    if (std::ranges::find(kFaults, error) != kFaults.end()) {
      throw io_error_at(before, "the file cannot be renamed", error);
    }
    throw Error(
        ErrorCode::unsupported,
        fmt::format(
            "the file system cannot rename {0}, but ffkit renames {0} when they are complete",
            is_of_folders ? "folders" : "files"),
        {.path = folder_.string(),
         .errno_value = error,
         .remedy = "give a folder on another disk, then copy the result"});
  }

  // After a claim that failed: nothing but what it has made itself goes.
  void give_back() noexcept {
    if (made_marker_) ::unlink((folder_ / kUnfinishedMarker).c_str());
    marker_.close();
    claim_file_.release();
    remove_made_folders();
  }

  void roll_back() noexcept {
    try {
      if (claim_.kind == Kind::split) set_plan("");  // tasks of a job begin no other shard
    } catch (...) {
      // On a full disk, say: there is the more to be removed.
    }
    try {
      remove(list());
      fs::remove(folder_ / kUnfinishedMarker);
    } catch (...) {
      // The marker stays: readers refuse what is left, and the next conversion removes it.
    }
    is_claimed_ = false;
    marker_.close();
    claim_file_.release();
    remove_made_folders();
  }

  void remove_made_folders() noexcept {
    if (!made_folders_.empty() && made_folders_.back() == folder_) remove_late_files();
    std::error_code ignored;
    for (auto folder = made_folders_.rbegin(); folder != made_folders_.rend(); ++folder) {
      fs::remove(*folder, ignored);  // only when it is empty
    }
    made_folders_.clear();
  }

  // A task of a job that was given up may begin one shard after it has looked, when the others are
  // removed already.
  void remove_late_files() noexcept {
    if (claim_.kind != Kind::split) return;
    constexpr int kMostTries = 100;  // each is for one task that was late
    try {
      for (int i = 0; i < kMostTries; ++i) {
        std::error_code error;
        if (fs::remove(folder_, error) || error != std::errc::directory_not_empty) return;
        const WorkThere there = list();
        // With a marker there is a new claim, and what was listed may be its shards.
        if (!there.foreign.empty() || holds_marker(folder_)) return;
        remove(there);
      }
    } catch (...) {
      // What cannot be removed stays. No reader takes it for a split.
    }
  }

  std::vector<fs::path> made_folders_;  // outermost first
  FileLock marker_;
  ClaimFile claim_file_;  // where the file system has no locks
  std::string lock_note_;
  bool has_noted_fsync_ = false;
  bool made_marker_ = false;  // it was not there
  bool is_claimed_ = false;   // and what is made is ours to remove
};

}  // namespace

void require_usable_folder(const fs::path& folder, Destination::Kind kind) {
  refuse_dangling_destination(folder);
  if (!fs::exists(folder)) return;
  if (!fs::is_directory(folder)) {
    throw error_at(folder, ErrorCode::invalid_argument,
                   "the path exists, but it is not a folder; give another path");
  }
  if (holds_marker(folder) || holds_nothing(folder)) return;
  throw folder_is_used(folder, kind);
}

std::unique_ptr<Destination> claim_folder(const fs::path& folder, Destination::Claim claim) {
  return std::make_unique<DestinationFolder>(folder, std::move(claim));
}

}  // namespace ffkit
