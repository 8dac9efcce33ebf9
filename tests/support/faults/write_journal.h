// WriteJournal: while it exists, it notes what this program writes, renames and fsyncs, and so
// knows what a power cut could take back. For programs that link ffkit_fault_injection
// (fault_injection.h), which leads the system calls through here. One at a time; any threads.
//
//   write, pwrite   the file's bytes can be lost     until fsync of the file
//   rename          the file's name can be lost      until fsync of its folder
//
// A file may get its final name only after its bytes are safe, and a mark of unfinished work may go
// (unlink) only after everything is.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace ffkit::testing {

class WriteJournal {
 public:
  WriteJournal();
  ~WriteJournal();
  WriteJournal(const WriteJournal&) = delete;
  WriteJournal& operator=(const WriteJournal&) = delete;

  // The renames and removals that came too early, one sentence each, and what is not safe by now.
  std::vector<std::string> problems() const;
  // Whether this file or folder was fsynced.
  bool has_synced(const std::filesystem::path& path) const;

  // For the wrapped calls, after they succeeded.
  void wrote(int fd);
  void synced(int fd);
  void synced_everything();
  void renamed(const std::filesystem::path& from, const std::filesystem::path& to);
  void removed(const std::filesystem::path& path);

 private:
  std::vector<std::string> unsafe() const;
  void move_contents(const std::string& old_folder, const std::string& new_folder);

  mutable std::mutex mutex_;
  std::set<std::string> unsafe_bytes_;                         // files
  std::map<std::string, std::set<std::string>> unsafe_names_;  // by folder
  std::set<std::string> synced_;
  std::vector<std::string> too_early_;
};

// The one that exists, or null.
WriteJournal* active_journal();

}  // namespace ffkit::testing
