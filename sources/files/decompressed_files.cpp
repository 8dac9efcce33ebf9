#include "files/decompressed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include <ffkit/base/error.h>

#include "archives/compressed_stream.h"
#include "archives/parallel_io.h"
#include "converter/input/cancel.h"
#include "files/spool.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

ContentKind kind_of(const InputFile& file, FileRange stream) {
  std::array<std::byte, kContentHeadBytes> head{};
  const auto num_bytes = std::min<int64_t>(stream.num_bytes, std::ssize(head));
  const auto bytes = std::span(head).first(static_cast<size_t>(num_bytes));
  file.read_at(stream.offset, bytes);
  return content_kind(bytes);
}

// The whole file, where its first bytes say that it is compressed.
std::optional<FileRange> stream_by_content(size_t /*file*/, const InputFile& opened) {
  const FileRange whole{.offset = 0, .num_bytes = opened.size()};
  if (!is_compressed_stream(kind_of(opened, whole))) return std::nullopt;
  return whole;
}

// Returns where it is in `spool`.
FileRange decompress(const InputFile& file, FileRange compressed, Spool& spool,
                     const std::atomic<bool>* cancel) {
  constexpr size_t kChunkBytes = 1 << 20;
  FileRange range{.offset = spool.size()};
  std::vector<std::byte> chunk(kChunkBytes);
  CompressedStream stream(file, compressed, kind_of(file, compressed));
  while (const size_t num_bytes = stream.read(chunk)) {
    throw_if_cancelled(cancel);
    spool.append(std::span(chunk).first(num_bytes));
  }
  range.num_bytes = spool.size() - range.offset;
  return range;
}

}  // namespace

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
  std::vector<std::optional<Error>> errors(spools.size());
  parallel_io(spools.size(), [&](size_t s) {
    try {
      for (size_t i = s; i < compressed.size(); i += spools.size()) {
        const Stream& stream = compressed[i];
        files.with(stream.file, [&](const InputFile& file) {
          decompressed_[stream.file] =
              Decompressed{.spool = s, .range = decompress(file, stream.range, spools[s], cancel)};
        });
      }
    } catch (const Error& error) {
      errors[s] = error;
    }
  });
  for (const std::optional<Error>& error : errors) {
    if (error) throw *error;
  }
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
