#include "export/exported.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/file/file_lock.h"
#include "base/make_error.h"
#include "tools/common/output_file.h"
#include "tools/common/programs.h"

namespace ffkit {
namespace {

void write_lines(const std::filesystem::path& folder, const std::string& file,
                 const std::vector<std::string>& lines, Exported& exported) {
  if (lines.empty()) return;
  const auto is_line = [](const std::string& text) {
    return !text.empty() && text.find_first_of("\r\n") == std::string::npos;
  };
  const auto odd = std::ranges::find_if_not(lines, is_line);
  if (odd != lines.end()) {
    exported.notes.push_back(
        fmt::format("{} is not written: class {}, '{}', cannot be a line of a file", file,
                    odd - lines.begin(), *odd));
    return;
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  write_new_file(folder / file, std::as_bytes(std::span(text)));
  exported.class_files.push_back(file);
}

}  // namespace

ExportSource::ExportSource(Dataset dataset, const std::vector<std::string>& fields)
    : dataset_(std::move(dataset)), schema_(dataset_.schema()) {
  if (fields.empty()) return;
  mapping_.stored = std::exchange(schema_, {});
  for (const std::string& name : fields) {
    if (std::ranges::count(fields, name) > 1) {
      throw error_of(ErrorCode::invalid_argument, "--fields names '{}' twice; remove one of them",
                     name);
    }
    const size_t position = mapping_.stored.require(name);
    schema_.fields.push_back(mapping_.stored.fields[position]);
    mapping_.positions.push_back(static_cast<int64_t>(position));
  }
}

std::string ExportNote::text(bool is_whole) const {
  if (items.empty()) return sentence;
  constexpr size_t kMaxShown = 4;
  const size_t num_shown = is_whole ? items.size() : std::min(items.size(), kMaxShown);
  std::string text =
      fmt::format("{}: {}", sentence, fmt::join(std::span(items).first(num_shown), "; "));
  if (num_shown < items.size()) {
    text += fmt::format("; and {} others (--json lists all)", items.size() - num_shown);
  }
  return text;
}

void write_class_files(const std::vector<Dataset>& splits, const std::filesystem::path& folder,
                       Exported& exported) {
  const auto is_like_first = [&splits](const Dataset& dataset) {
    return dataset.manifest().classes == splits.front().manifest().classes &&
           dataset.manifest().class_names == splits.front().manifest().class_names;
  };
  const bool are_alike = std::ranges::all_of(splits, is_like_first);
  if (!are_alike) {
    exported.notes.emplace_back(
        "the splits have different classes, so each has a file of its own; convert each split "
        "separately, with its file");
  }
  for (const Dataset& dataset : splits) {
    const Manifest& manifest = dataset.manifest();
    const std::string ending = are_alike ? ".txt" : fmt::format("-{}.txt", manifest.split);
    write_lines(folder, "classes" + ending, manifest.classes, exported);
    write_lines(folder, "class_names" + ending, manifest.class_names, exported);
    if (!manifest.class_ids.empty()) {
      exported.notes.push_back(
          fmt::format("{}: the ids of its classes in the source are not written", manifest.split));
    }
    if (are_alike) return;
  }
}

void write_class_folders(const std::filesystem::path& folder, Exported& exported) {
  const std::vector<ExportedSplit>& splits = exported.splits;
  if (std::ranges::all_of(splits, &std::vector<ExportNote>::empty, &ExportedSplit::notes)) return;
  const bool are_alike = std::ranges::all_of(splits, [&splits](const ExportedSplit& split) {
    return split.class_folders == splits.front().class_folders;
  });
  for (const ExportedSplit& split : splits) {
    const std::string ending = are_alike ? ".txt" : fmt::format("-{}.txt", split.split);
    write_lines(folder, "classes" + ending, split.class_folders, exported);
    if (are_alike) return;
  }
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".ffinspect-export";

[[noreturn]] void refuse(const fs::path& destination, const std::string& message) {
  throw error_at(destination, ErrorCode::invalid_argument, message);
}

// A folder that is this process's as long as the object lives; the system frees that of a process
// that was killed.
class OwnFolder {
 public:
  OwnFolder(const fs::path& path, const fs::path& destination) {
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
      throw io_error_at(destination, "the folder cannot be created", errno);
    }
    lock_ = FileLock(open_descriptor(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (!lock_.is_open()) throw io_error_at(path, "cannot open the folder", errno);
    // It is not still there when its owner was done with it before it was locked here.
    const FolderHold hold = hold_folder(path, FileLock::Mode::exclusive, lock_, claim_);
    if (!hold.is_taken || !is_open_file_at(path, lock_.fd())) {
      refuse(destination,
             fmt::format("{} is exporting to this folder; give a new folder{}",
                         in_use_by(hold.user, "another process"), remedy_for(hold.user)));
    }
  }
  // The folder gets its final name next: what stands for a lock must not come along.
  void take_claim_away() { claim_.release(); }

 private:
  FileLock lock_;
  ClaimFile claim_;
};

void remove_content(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (ClaimFile::is_claim(entry.path())) continue;
    fs::remove_all(entry.path(), ignored);
  }
}

// Whether there is nothing in it but what an export has not finished.
bool has_room(const fs::path& destination) {
  for (const auto& entry : fs::directory_iterator(destination)) {
    if (entry.path().filename() != kUnfinished) return false;
  }
  return true;
}

void require_room(const fs::path& destination) {
  if (has_room(destination)) return;
  refuse(destination,
         "the folder is not empty, and nothing is overwritten; give a new folder for the export");
}

void move_up(const fs::path& folder, const fs::path& destination) {
  require_room(destination);
  for (const auto& entry : fs::directory_iterator(folder)) {
    fs::rename(entry.path(), destination / entry.path().filename());
  }
  fs::remove(folder);
}

// Renaming onto a folder that is not empty fails, whoever filled it.
void take_name(const fs::path& folder, const fs::path& destination) {
  if (rename(folder.c_str(), destination.c_str()) == 0) return;
  const int error = errno;
  if (error == ENOTEMPTY || error == EEXIST) require_room(destination);
  throw io_error_at(destination, "cannot give the finished export this name", error);
}

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

void make_folder(const std::filesystem::path& folder) {
  require_local(folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require_done(error, folder, "the folder cannot be created");
}

void write_new_file(const std::filesystem::path& file, std::span<const std::byte> data) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    throw io_error_at(file, "the file cannot be created", errno);
  }
  const int problem = write_and_close(fd, data);
  if (problem != 0) {
    unlink(file.c_str());  // made here
    fail_writing(file, problem);
  }
}

void make_tree(const fs::path& destination, const std::function<void(const fs::path&)>& fill) {
  // Without the slash at its end that "OUT/" has.
  const fs::path out = destination.has_filename() ? destination : destination.parent_path();
  refuse_dangling_destination(out);
  std::error_code error;
  const auto status = fs::status(out, error);
  const bool exists = fs::exists(status);
  if (exists && !fs::is_directory(status)) {
    refuse(out, "is not a folder; give a new one to export to");
  }
  if (exists) require_room(out);
  fs::path unfinished = out;
  if (exists) {
    unfinished /= kUnfinished;
  } else {
    unfinished += kUnfinished;
    if (out.has_parent_path()) make_folder(out.parent_path());
  }
  OwnFolder own(unfinished, out);
  remove_content(unfinished);
  try {
    fill(unfinished);
    throw_if_stopped();
    own.take_claim_away();
    if (exists) {
      move_up(unfinished, out);
    } else {
      take_name(unfinished, out);
    }
  } catch (...) {
    fs::remove_all(unfinished, error);
    throw;
  }
}

void throw_if_stopped() {
  if (!*stop_flag()) return;
  throw Error(ErrorCode::cancelled, "stopped by a signal; the exported files were removed");
}

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
