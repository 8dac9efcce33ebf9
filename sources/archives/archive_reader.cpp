#include "archives/archive_reader.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <span>

#include "base/printable.h"
#include "converter/input/source_error.h"

namespace ffkit {

ArchiveReader::ArchiveReader(const InputFile& file, int64_t offset, int64_t num_bytes,
                             std::string name, Compression compression)
    : file_(file),
      offset_(offset),
      num_bytes_(num_bytes),
      name_(std::move(name)),
      archive_(archive_read_new()) {
  archive* const a = archive_.get();
  if (a == nullptr) throw std::bad_alloc();
  archive_read_support_format_tar(a);
  if (compression == Compression::gzip) archive_read_support_filter_gzip(a);
  archive_read_set_callback_data(a, this);
  archive_read_set_read_callback(a, read_callback);
  archive_read_set_skip_callback(a, skip_callback);
  if (archive_read_open1(a) != ARCHIVE_OK) {
    fail(compression == Compression::none ? "the file is not an uncompressed tar archive"
                                          : "the file is not a tar archive");
  }
}

archive_entry* ArchiveReader::next() {
  archive_entry* entry = nullptr;
  const int result = archive_read_next_header(archive_.get(), &entry);
  check_no_read_error();
  if (result == ARCHIVE_EOF) return nullptr;
  if (result == ARCHIVE_OK) return entry;
  // A warning means that libarchive could not translate a name or an attribute: the member itself
  // is whole.
  if (result == ARCHIVE_WARN) return entry;
  fail("the archive is damaged or cut short");
}

int64_t ArchiveReader::position() const {
  return archive_filter_bytes(archive_.get(), 0);
}

int64_t ArchiveReader::header_position() const {
  return archive_read_header_position(archive_.get());
}

std::vector<std::byte> ArchiveReader::read_member(size_t max_bytes) {
  std::vector<std::byte> content;
  std::array<std::byte, 16384> chunk;
  while (true) {
    const la_ssize_t n = archive_read_data(archive_.get(), chunk.data(), chunk.size());
    check_no_read_error();
    if (n < 0) fail("the archive is damaged or cut short");
    if (n == 0) return content;
    if (content.size() + static_cast<size_t>(n) > max_bytes) {
      throw source_error(name_, ErrorCode::unsupported,
                         "a member has more than {} bytes, the limit for a member", max_bytes);
    }
    content.insert(content.end(), chunk.begin(), chunk.begin() + n);
  }
}

std::string ArchiveReader::checked_name(archive_entry* entry) const {
  const char* raw = archive_entry_pathname(entry);
  if (raw == nullptr) raw = archive_entry_pathname_utf8(entry);
  const auto refuse = [&](const std::string& why,
                          const char* remedy = "pack the archive again without this member") {
    throw source_error(name_, ErrorCode::unsupported,
                       "the member '{}' {}, so ffkit refuses the whole archive; {}",
                       raw == nullptr ? "?" : raw, why, remedy);
  };
  if (raw == nullptr || *raw == '\0') refuse("has no readable name");
  if (!is_utf8(raw)) refuse("has a name that is not UTF-8 text");
  const fs::path path(raw);
  if (path.is_absolute()) refuse("has an absolute path");
  if (std::ranges::find(path, "..") != path.end()) refuse("has '..' in its path");
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr) {
    const char* symlink = archive_entry_symlink(entry);
    refuse(fmt::format("is a link to '{}'",
                       symlink == nullptr ? archive_entry_hardlink(entry) : symlink),
           "pack the archive again with tar --dereference --hard-dereference");
  }
  const auto type = archive_entry_filetype(entry);
  if (type != AE_IFREG && type != AE_IFDIR) refuse("is not a plain file");
  if (archive_entry_sparse_count(entry) > 0) refuse("is a sparse file");
  return path.lexically_normal().string();
}

la_ssize_t ArchiveReader::read_callback(archive* a, void* self, const void** buffer) {
  auto& reader = *static_cast<ArchiveReader*>(self);
  const int64_t num_bytes =
      std::min(reader.num_bytes_ - reader.position_, std::ssize(reader.buffer_));
  try {
    reader.file_.read_at(reader.offset_ + reader.position_,
                         std::span(reader.buffer_).first(static_cast<size_t>(num_bytes)));
  } catch (...) {
    reader.read_error_ = std::current_exception();
    archive_set_error(a, EIO, "read failed");
    return ARCHIVE_FATAL;
  }
  reader.position_ += num_bytes;
  *buffer = reader.buffer_.data();
  return num_bytes;
}

la_int64_t ArchiveReader::skip_callback(archive*, void* self, la_int64_t request) {
  auto& reader = *static_cast<ArchiveReader*>(self);
  const int64_t num_bytes = std::min(request, reader.num_bytes_ - reader.position_);
  reader.position_ += num_bytes;
  return num_bytes;
}

void ArchiveReader::fail(const char* what) const {
  check_no_read_error();
  const char* detail = archive_error_string(archive_.get());
  throw Error(ErrorCode::corrupt,
              fmt::format("{}{}{}; download or copy it again", what, detail == nullptr ? "" : ": ",
                          detail == nullptr ? "" : detail),
              {.path = name_, .offset = position_});
}

void ArchiveReader::check_no_read_error() const {
  if (read_error_) std::rethrow_exception(read_error_);
}

}  // namespace ffkit
