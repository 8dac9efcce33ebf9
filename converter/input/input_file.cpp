#include "input/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include <ffkit/base/crc32c.h>
#include <ffkit/converter/source.h>

#include "base/make_error.h"
#include "format/content_kind.h"
#include "input/source_error.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

FileStamp stamp_of(const struct stat& status) {
  return {.num_bytes = status.st_size,
          .modified_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

FileStamp stamp_of(const File& file) {
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) {
    throw io_error_at(file.path(), "the file cannot be examined", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw error_at(file.path(), ErrorCode::unsupported, "the path is not a regular file");
  }
  return stamp_of(status);
}

FileStamp stamp_of(const PlacedObject& object) {
  return {.num_bytes = object.num_bytes, .modified_ns = object.version};
}

// Half of it may be of before and half of it of after.
[[noreturn]] void throw_changed(const std::filesystem::path& path) {
  throw error_at(
      path, ErrorCode::not_found,
      "the file was changed after ffkit listed it; convert the file when no program writes to it");
}

}  // namespace

InputFile::InputFile(std::filesystem::path path) {
  if (const Place place(path); place.is_in_store()) {
    object_ = std::make_unique<ObjectFile>(place.path());
    stamp_ = stamp_of(object_->listed());
    name_ = shown_address(place.address());
  } else {
    file_ = File::open_for_reading(std::move(path));
    stamp_ = stamp_of(*file_);
  }
}

InputFile::InputFile(std::filesystem::path path, const FileStamp& listed) : stamp_(listed) {
  if (const Place place(path); place.is_in_store()) {
    object_ = std::make_unique<ObjectFile>(
        place.path(), PlacedObject{.num_bytes = listed.num_bytes, .version = listed.modified_ns});
    name_ = shown_address(place.address());
  } else {
    file_ = File::open_for_reading(std::move(path));
    stamp_ = stamp_of(*file_);
    require(listed);
  }
}

InputFile::InputFile(File file) : file_(std::move(file)), stamp_(stamp_of(*file_)) {}

void InputFile::require(const FileStamp& listed) const {
  if (stamp_ != listed) throw_changed(path());
}

void InputFile::read_at(int64_t offset, std::span<std::byte> out) const {
  if (!file_) {
    object_->read_at(offset, out);
    return;
  }
  file_->read_at(offset, out);
  if (stamp_of(*file_) != stamp_) throw_changed(path());
}

std::vector<std::byte> InputFile::head(int64_t offset, int64_t num_bytes) const {
  std::vector<std::byte> bytes(
      static_cast<size_t>(std::min<int64_t>(num_bytes, kContentHeadBytes)));
  read_at(offset, bytes);
  return bytes;
}

void InputFile::will_read(int64_t offset, int64_t num_bytes) const {
  if (!file_) {
    object_->announce(offset, num_bytes);
  } else {
    (void)::posix_fadvise(file_->fd(), offset, num_bytes, POSIX_FADV_WILLNEED);
  }
}

void InputFile::expect_scattered_reads(bool are_scattered) const {
  if (!file_) return;
  // Advice only: a file system that does not take it is no error.
  (void)::posix_fadvise(file_->fd(), 0, 0, are_scattered ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
}

FileStamp stamp_of(const std::filesystem::path& path, std::error_code& error) {
  error.clear();
  if (const Place place(path); place.is_in_store()) {
    const std::optional<PlacedObject> object = object_at(place);
    if (object) return stamp_of(*object);
    error = std::make_error_code(std::errc::no_such_file_or_directory);
    return {};
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    error.assign(errno, std::generic_category());
    return {};
  }
  if (!S_ISREG(status.st_mode)) {
    error = std::make_error_code(S_ISDIR(status.st_mode) ? std::errc::is_a_directory
                                                         : std::errc::not_supported);
    return {};
  }
  return stamp_of(status);
}

std::vector<std::byte> read_source_bytes(const std::filesystem::path& path, int64_t max_bytes) {
  if (!Place(path).is_in_store()) return read_whole_file(path, max_bytes);
  const std::string text = read_source_text(path, max_bytes);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string read_source_text(const std::filesystem::path& path, int64_t max_bytes) {
  if (!Place(path).is_in_store()) return read_whole_text(path, max_bytes);
  const InputFile file(path);
  if (file.size() > max_bytes) {
    throw error_at(file.path(), ErrorCode::unsupported,
                   "the object has {} bytes, more than the limit of {} bytes", file.size(),
                   max_bytes);
  }
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

SourceInput input_of(std::string name, const InputFile& file) {
  constexpr int64_t kChunkBytes = 1 << 20;
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(kChunkBytes, file.size())));
  uint32_t crc = 0;
  for (int64_t offset = 0; offset < file.size(); offset += kChunkBytes) {
    const auto length = static_cast<size_t>(std::min(kChunkBytes, file.size() - offset));
    const auto piece = std::span(chunk).first(length);
    file.read_at(offset, piece);
    crc = crc32c(piece, crc);
  }
  return {.name = std::move(name), .num_bytes = file.size(), .crc32c = crc};
}

std::string dangling_link(const std::filesystem::path& path) {
  if (Place(path).is_in_store()) return {};  // stores have no links
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return {};
  if (::stat(path.c_str(), &status) == 0) return {};
  const int error = errno;
  if (error != ENOENT && error != ENOTDIR && error != ELOOP) return {};
  std::error_code ignored;
  const std::string target = std::filesystem::read_symlink(path, ignored).string();
  if (error == ELOOP) {
    return fmt::format("this link points to '{}', which leads back to the link; remove the link",
                       target);
  }
  return fmt::format(
      "this link points to '{}', which does not exist; restore this file or folder, or remove the "
      "link",
      target);
}

void refuse_dangling_link(const std::filesystem::path& path) {
  const std::string fault = dangling_link(path);
  if (!fault.empty()) throw error_at(path, ErrorCode::not_found, fault);
}

void require_source_folder(const std::filesystem::path& path) {
  refuse_dangling_link(path);
  if (is_folder_at(path)) return;
  throw source_error(path, ErrorCode::not_found,
                     exists_at(path) ? "this is a file; give the folder of the data set"
                                     : "there is no such folder");
}

}  // namespace ffkit
