#include "files/decompressed_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "archives/compressed_stream.h"
#include "archives/parallel_io.h"
#include "converter/input/cancel.h"
#include "converter/input/source_error.h"
#include "format/content_kind.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

// -1 with errno.
int open_without_name(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // Some file systems (NFS, overlays) have no such files.
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string name = (folder / ".ffkit-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

fs::path nearest_folder(fs::path folder) {
  if (folder.empty() || Place(folder).is_in_store()) return {};
  folder = fs::absolute(folder);
  std::error_code ignored;
  while (!fs::is_directory(folder, ignored) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

File make_file(fs::path folder) {
  int fd = folder.empty() ? -1 : open_without_name(folder);
  if (fd < 0) {
    std::error_code ignored;
    folder = fs::temp_directory_path(ignored);
    if (folder.empty()) folder = "/tmp";
    fd = open_without_name(folder);
  }
  if (fd < 0) {
    throw source_io_error(
        folder,
        "a temporary file for decompressed data cannot be made; set TMPDIR to another "
        "folder",
        errno);
  }
  return File::adopt(fd, std::move(folder));
}

// The whole file, where its first bytes say that it is compressed.
std::optional<FileRange> stream_by_content(size_t /*file*/, const InputFile& opened) {
  if (!is_compressed_stream(content_kind(opened.head()))) return std::nullopt;
  return FileRange{.offset = 0, .num_bytes = opened.size()};
}

// Returns where it is in `spool`.
FileRange decompress(const InputFile& file, FileRange compressed, Spool& spool,
                     const std::atomic<bool>* cancel) {
  constexpr size_t kChunkBytes = 1 << 20;
  FileRange range{.offset = spool.size()};
  std::vector<std::byte> chunk(kChunkBytes);
  CompressedStream stream(file, compressed,
                          content_kind(file.head(compressed.offset, compressed.num_bytes)));
  while (const size_t num_bytes = stream.read(chunk)) {
    throw_if_cancelled(cancel);
    spool.append(std::span(chunk).first(num_bytes));
  }
  range.num_bytes = spool.size() - range.offset;
  return range;
}

}  // namespace

Spool::Spool(const fs::path& folder) : file_(make_file(nearest_folder(folder))) {}

void Spool::append(std::span<const std::byte> bytes) {
  try {
    file_.write_at(size_, bytes);
  } catch (const Error& error) {
    const int code = error.context().errno_value;
    const bool is_full = code == ENOSPC || code == EDQUOT;
    throw error
        .with_message(fmt::format("a temporary file with {} MB of decompressed data cannot grow",
                                  size_ / 1'000'000))
        .with_remedy(is_full ? "free some space there, or decompress the files beforehand" : "");
  }
  size_ += std::ssize(bytes);
}

DecompressedFiles::DecompressedFiles(const FileGroup& files, const fs::path& temporary_folder,
                                     const std::atomic<bool>* cancel, std::string_view noun,
                                     const FindStream& find_stream)
    : decompressed_(files.paths().size()) {
  struct Stream {
    size_t file = 0;
    FileRange range;
  };
  std::vector<Stream> compressed;
  for (size_t i = 0; i < decompressed_.size(); ++i) {
    const auto range = files.with(i, [&](const InputFile& opened) {
      return find_stream ? find_stream(i, opened) : stream_by_content(i, opened);
    });
    if (range) compressed.push_back({i, *range});
  }
  if (compressed.empty()) return;
  // A few files for all: a process may not have many open.
  constexpr size_t kSpools = 16;
  std::vector<Spool> spools;
  while (spools.size() < std::min(kSpools, compressed.size())) {
    spools.emplace_back(temporary_folder);
  }
  parallel_io_that_throws(spools.size(), [&](size_t s) {
    for (size_t i = s; i < compressed.size(); i += spools.size()) {
      const Stream& stream = compressed[i];
      files.with(stream.file, [&](const InputFile& file) {
        decompressed_[stream.file] =
            Decompressed{.spool = s, .range = decompress(file, stream.range, spools[s], cancel)};
      });
    }
  });
  int64_t num_bytes = 0;
  for (const Spool& spool : spools) num_bytes += spool.size();
  note_ = fmt::format("{} compressed {}{} decompressed into temporary files of {} MB in {}",
                      compressed.size(), noun, compressed.size() == 1 ? " was" : "s were",
                      (num_bytes + 999'999) / 1'000'000, spools.front().folder().string());
  for (Spool& spool : spools) {
    const fs::path folder = spool.folder();
    spools_.push_back(spool.release(folder / fmt::format("decompressed {}s", noun)));
  }
}

std::optional<DecompressedFiles::Place> DecompressedFiles::find(size_t file) const {
  const std::optional<Decompressed>& found = decompressed_.at(file);
  if (!found) return std::nullopt;
  return Place{spools_.at(found->spool), found->range};
}

}  // namespace ffkit
