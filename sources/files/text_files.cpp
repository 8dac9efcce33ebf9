#include "files/text_files.h"

#include <simdjson.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <array>
#include <exception>
#include <mutex>

#include <ffkit/base/machine.h>

#include "archives/compressed_stream.h"
#include "base/printable.h"
#include "converter/input/cancel.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/input/thread_limit.h"
#include "converter/places/brace_list.h"
#include "format/content_kind.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

constexpr size_t kSpoolChunkBytes = 1 << 20;
constexpr int kMaxDecompressors = 16;
constexpr std::array kPackedEndings = {".gz", ".zst", ".bz2", ".xz"};

FileStamp existing_stamp(const fs::path& path) {
  std::error_code error;
  const FileStamp stamp = stamp_of(path, error);
  if (!error) return stamp;
  refuse_dangling_link(path);
  throw source_io_error(path, "cannot be read", error.value());
}

std::vector<FileStamp> text_stamps(const std::vector<fs::path>& paths) {
  if (!paths.empty() && Place(paths.front()).is_in_store()) return stamps_of_objects(paths);
  std::vector<FileStamp> stamps;
  stamps.reserve(paths.size());
  for (const fs::path& path : paths) stamps.push_back(existing_stamp(path));
  return stamps;
}

}  // namespace

std::vector<SourceInput> inputs_of_texts(const fs::path& path, const TextFiles& files,
                                         const std::vector<uint32_t>& crc32c) {
  std::vector<SourceInput> inputs;
  for (size_t i = 0; i < crc32c.size(); ++i) {
    inputs.push_back({.name = name_below(path, files.paths()[i]),
                      .num_bytes = files.num_bytes(i),
                      .crc32c = crc32c[i]});
  }
  return inputs;
}

void note_texts(const std::string& split, const TextFiles& files, int64_t num_marks,
                std::vector<std::string>& notes) {
  if (const std::string note = files.note(); !note.empty()) {
    add_note(notes, split, "{}", note);
  }
  if (num_marks == 0) return;
  add_note(notes, split, "{} with a byte order mark, which is left out",
           num_marks == 1 ? "1 file begins" : fmt::format("{} files begin", num_marks));
}

std::string head_of(const TextFiles& files, size_t file) {
  constexpr int64_t kHeadBytes = 64 << 10;
  std::string head(static_cast<size_t>(std::min(kHeadBytes, files.num_bytes(file))), '\0');
  files.read_at(file, 0, std::as_writable_bytes(std::span(head)));
  return head;
}

size_t mark_length(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

std::string plain_name(const fs::path& file) {
  std::string name = in_lower_case(name_of_file(file));
  for (const char* ending : kPackedEndings) {
    if (name.ends_with(ending)) {
      name.resize(name.size() - std::string_view(ending).size());
      break;
    }
  }
  return name;
}

void require_text(std::span<const std::byte> head, const TextFileRules& rules,
                  const fs::path& file) {
  const ContentKind kind = content_kind(head);
  if (is_all_zeros(head)) {
    throw source_error(file, ErrorCode::corrupt,
                       "the file begins with {} zero bytes, not with {}; get the file again",
                       head.size(), rules.is_json ? "JSON" : "text");
  }
  switch (kind) {
    // Texts, or so short a signature that a text may begin with it.
    case ContentKind::unknown:
    case ContentKind::empty:
    case ContentKind::utf8_with_bom:
    case ContentKind::pnm:
      return;
    case ContentKind::html:
    case ContentKind::xml:
    case ContentKind::svg:
      if (!rules.is_json) return;
      break;
    case ContentKind::utf16:
    case ContentKind::utf32:
      if (!rules.needs_utf8) return;
      break;
    default:
      break;
  }
  // A text may begin with "GIF89a" or "ID3".
  const bool are_words = std::ranges::all_of(
      head, [](std::byte b) { return b >= std::byte{0x09} && b < std::byte{0x7F}; });
  if (are_words && !rules.is_json && kind != ContentKind::git_lfs_pointer &&
      kind != ContentKind::pdf) {
    return;
  }
  const std::string remedy = content_remedy(kind);
  const bool is_packed = CompressedStream::takes(kind);
  throw source_error(file, ErrorCode::unsupported, "the file is {}, not {} in UTF-8{}{}",
                     content_name(kind), rules.is_json ? "JSON" : "text",
                     is_packed || !remedy.empty() ? "; " : "",
                     !is_packed ? remedy
                     : plain_name(file) != in_lower_case(name_of_file(file))
                         ? "the file was compressed twice, so decompress the file once"
                         : "give it a name that ends with .gz, .zst, .bz2 or .xz");
}

TextFiles::TextFiles(std::vector<fs::path> paths, const TextFileRules& rules,
                     const SpoolPlace& place)
    : stamps_(text_stamps(paths)), files_(std::move(paths), stamps_) {
  std::vector<size_t> compressed;
  ranges_.resize(files_.paths().size());
  for (size_t i = 0; i < files_.paths().size(); ++i) {
    const fs::path& path = files_.paths()[i];
    const bool says_packed = plain_name(path) != in_lower_case(name_of_file(path));
    if (stamps_[i].num_bytes == 0 || (!rules.looks_inside && !says_packed)) continue;
    throw_if_cancelled(place.cancel);
    const std::vector<std::byte> head =
        files_.with(i, [](const InputFile& file) { return file.head(); });
    if (CompressedStream::takes(content_kind(head))) {
      compressed.push_back(i);
      compressed_bytes_ += stamps_[i].num_bytes;
    } else {
      require_text(head, rules, path);
    }
  }
  if (!compressed.empty()) decompress(compressed, rules, place);
}

void TextFiles::decompress(const std::vector<size_t>& files, const TextFileRules& rules,
                           const SpoolPlace& place) {
  int num_threads = place.num_threads > 0 ? place.num_threads : usable_cores();
  num_threads = std::min({num_threads, kMaxDecompressors, static_cast<int>(files.size())});
  num_threads = num_startable_threads(num_threads);
  for (int i = 0; i < num_threads; ++i) spools_.emplace_back(place.folder);
  std::atomic<size_t> next{0};
  std::mutex mutex;
  // The first file's error, whichever thread is first.
  size_t failed = files.size();
  std::exception_ptr error;
  const auto spool_file = [&](size_t index, Spool& spool) {
    const size_t file = files[index];
    const int64_t begin = spool.size();
    files_.with(file, [&](const InputFile& input) {
      CompressedStream stream(input, content_kind(input.head()));
      std::vector<std::byte> chunk(kSpoolChunkBytes);
      for (size_t n = chunk.size(); n == chunk.size();) {
        throw_if_cancelled(place.cancel);
        n = stream.read(chunk);
        const auto piece = std::span(chunk).first(n);
        if (spool.size() == begin) {
          require_text(piece.first(std::min(n, kContentHeadBytes)), rules, files_.paths()[file]);
        }
        spool.append(piece);
      }
    });
    stamps_[file].num_bytes = spool.size() - begin;
    ranges_[file] = Range{static_cast<size_t>(&spool - spools_.data()), begin};
  };
  const auto work = [&](size_t thread) {
    for (size_t index = next++; index < files.size(); index = next++) {
      try {
        spool_file(index, spools_[thread]);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (index < failed) {
          failed = index;
          error = std::current_exception();
        }
        return;
      }
    }
  };
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism,
                                  static_cast<size_t>(num_threads));
  tbb::task_arena arena(num_threads);
  arena.execute([&] {
    tbb::parallel_for(size_t{0}, static_cast<size_t>(num_threads), work, tbb::simple_partitioner{});
  });
  if (error) std::rethrow_exception(error);
}

void TextFiles::read_at(size_t file, int64_t offset, std::span<std::byte> out) const {
  if (const auto& range = ranges_.at(file)) {
    spools_[range->spool].read_at(range->offset + offset, out);
  } else {
    files_.read_at(file, offset, out);
  }
}

std::string TextFiles::note() const {
  int64_t num_files = 0;
  for (const auto& range : ranges_) num_files += range ? 1 : 0;
  if (num_files == 0) return {};
  int64_t num_bytes = 0;
  for (const Spool& spool : spools_) num_bytes += spool.size();
  return fmt::format(
      "{} compressed {} ({:.1f} MB) became {:.1f} MB of text in temporary files in "
      "{}, until the conversion ends",
      num_files, num_files == 1 ? "file" : "files", static_cast<double>(compressed_bytes_) / 1e6,
      static_cast<double>(num_bytes) / 1e6, spools_.front().folder().string());
}

std::vector<std::string> read_class_list(const fs::path& path) {
  constexpr int64_t kMaxBytes = 64 << 20;
  const std::string text = read_source_text(path, kMaxBytes);
  if (!simdjson::validate_utf8(text)) {
    throw source_error(path, ErrorCode::invalid_argument,
                       "the file is not UTF-8 text; give a text file with one class on each line");
  }
  std::vector<std::string> lines;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    if (line.empty()) {
      throw source_error(path, ErrorCode::invalid_argument,
                         "line {} is empty; write one class on each line, and remove empty lines",
                         number);
    }
    lines.emplace_back(line);
  });
  if (lines.empty()) {
    throw source_error(path, ErrorCode::invalid_argument, "holds no classes");
  }
  return lines;
}

}  // namespace ffkit
