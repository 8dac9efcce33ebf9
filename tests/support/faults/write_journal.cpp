#include "faults/write_journal.h"

#include <fmt/format.h>

#include <atomic>
#include <stdexcept>
#include <utility>

namespace ffkit::testing {
namespace {

namespace fs = std::filesystem;

std::atomic<WriteJournal*> active = nullptr;

std::string name_of(int fd) {
  std::error_code ignored;
  return fs::read_symlink(fmt::format("/proc/self/fd/{}", fd), ignored).string();
}

// As name_of() gives it, for a path that need not exist any more.
std::string name_of(const fs::path& path) {
  return (fs::canonical(fs::absolute(path).parent_path()) / path.filename()).string();
}

}  // namespace

WriteJournal* active_journal() {
  return active;
}

WriteJournal::WriteJournal() {
  if (active.exchange(this) != nullptr) throw std::logic_error("two WriteJournals at once");
}

WriteJournal::~WriteJournal() {
  active = nullptr;
}

void WriteJournal::wrote(int fd) {
  const std::scoped_lock lock(mutex_);
  unsafe_bytes_.insert(name_of(fd));
}

void WriteJournal::synced(int fd) {
  const std::scoped_lock lock(mutex_);
  const std::string name = name_of(fd);
  unsafe_bytes_.erase(name);
  unsafe_names_.erase(name);
  synced_.insert(name);
}

void WriteJournal::synced_everything() {
  const std::scoped_lock lock(mutex_);
  unsafe_bytes_.clear();
  unsafe_names_.clear();
}

void WriteJournal::renamed(const fs::path& from, const fs::path& to) {
  const std::scoped_lock lock(mutex_);
  const std::string old_name = name_of(from);
  const std::string new_name = name_of(to);
  if (unsafe_bytes_.erase(old_name) != 0) {
    too_early_.push_back(fmt::format("{} got its name before its bytes were safe", new_name));
  }
  move_contents(old_name, new_name);
  unsafe_names_[fs::path(new_name).parent_path().string()].insert(new_name);
}

// What is known of the files in a folder that got another name.
void WriteJournal::move_contents(const std::string& old_folder, const std::string& new_folder) {
  const auto move = [&](std::set<std::string>& names) {
    std::set<std::string> moved;
    for (const std::string& name : names) {
      const bool is_inside = name.starts_with(old_folder + "/");
      moved.insert(is_inside ? new_folder + name.substr(old_folder.size()) : name);
    }
    names = std::move(moved);
  };
  move(unsafe_bytes_);
  move(synced_);
  for (auto& [folder, names] : unsafe_names_) move(names);
  auto node = unsafe_names_.extract(old_folder);
  if (node.empty()) return;
  node.key() = new_folder;
  unsafe_names_.insert(std::move(node));
}

void WriteJournal::removed(const fs::path& path) {
  const std::scoped_lock lock(mutex_);
  const std::string name = name_of(path);
  unsafe_bytes_.erase(name);
  for (const std::string& problem : unsafe()) {
    too_early_.push_back(fmt::format("{} when {} was removed", problem, name));
  }
}

std::vector<std::string> WriteJournal::unsafe() const {
  std::vector<std::string> all;
  for (const std::string& file : unsafe_bytes_) {
    if (fs::exists(file)) all.push_back(fmt::format("the bytes of {} were not safe", file));
  }
  for (const auto& [folder, files] : unsafe_names_) {
    for (const std::string& file : files) {
      if (fs::exists(file)) all.push_back(fmt::format("the name of {} was not safe", file));
    }
  }
  return all;
}

std::vector<std::string> WriteJournal::problems() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> all = too_early_;
  for (const std::string& problem : unsafe()) all.push_back(problem + " at the end");
  return all;
}

bool WriteJournal::has_synced(const fs::path& path) const {
  const std::scoped_lock lock(mutex_);
  return synced_.contains(name_of(path));
}

}  // namespace ffkit::testing
