#include "sources/text/text_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include <ffkit/format/crc32c.h>
#include <ffkit/format/error.h>

#include "input/input_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kScanBytes = 4 << 20;

std::vector<fs::path> files_below(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> files;
  try {
    const auto options = fs::directory_options::follow_directory_symlink;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, options)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with('.') && name.ends_with(ending) && entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io, "cannot be listed",
                {.path = folder.string(), .errno_value = error.code().value()});
  }
  std::ranges::sort(files);
  return files;
}

// Blocks of lines, as they are found.
class LineBlocks {
 public:
  LineBlocks(TextSplit& split, int64_t block_bytes, int64_t max_document_bytes)
      : split_(split), block_bytes_(block_bytes), max_document_bytes_(max_document_bytes) {}

  void begin_file(uint32_t file) {
    file_ = file;
    line_ = 1;
    block_ = {.file = file};
  }

  // A line from `begin` to `end`, its line feed included.
  void add(int64_t begin, int64_t end) {
    const bool is_long = end - begin > max_document_bytes_;
    if (is_long) flush(begin);
    ++line_;
    if (is_long || end - block_.offset >= block_bytes_) flush(end);
  }

  // The next block begins at `end`.
  void flush(int64_t end) {
    block_.num_bytes = end - block_.offset;
    if (block_.num_bytes > 0) split_.blocks.push_back(block_);
    block_ = {.file = file_, .offset = end, .first_line = line_};
  }

 private:
  TextSplit& split_;
  const int64_t block_bytes_;
  const int64_t max_document_bytes_;
  uint32_t file_ = 0;
  int64_t line_ = 1;
  TextBlock block_;
};

void list_lines(TextSplit& split, int64_t block_bytes, int64_t max_document_bytes) {
  LineBlocks blocks(split, block_bytes, max_document_bytes);
  std::vector<char> chunk;
  for (size_t file = 0; file < split.files.paths().size(); ++file) {
    blocks.begin_file(static_cast<uint32_t>(file));
    const int64_t size = split.file_bytes[file];
    chunk.resize(static_cast<size_t>(std::min(kScanBytes, size)));
    uint32_t crc = 0;
    int64_t line_begin = 0;
    for (int64_t base = 0; base < size;) {
      const auto length = static_cast<size_t>(std::min(kScanBytes, size - base));
      const auto bytes = std::as_writable_bytes(std::span(chunk)).first(length);
      split.files.read_at(file, base, bytes);
      crc = crc32c(bytes, crc);
      for (size_t i = 0; i < length;) {
        const void* found = std::memchr(chunk.data() + i, '\n', length - i);
        if (found == nullptr) break;
        i = static_cast<size_t>(static_cast<const char*>(found) - chunk.data()) + 1;
        blocks.add(line_begin, base + static_cast<int64_t>(i));
        line_begin = base + static_cast<int64_t>(i);
      }
      base += static_cast<int64_t>(length);
    }
    if (line_begin < size) blocks.add(line_begin, size);
    blocks.flush(size);
    split.file_crc32c.push_back(crc);
  }
}

void list_files(TextSplit& split, int64_t block_bytes, int64_t max_document_bytes) {
  TextBlock block{.num_files = 0};
  const auto flush = [&](size_t next) {
    if (block.num_files > 0) split.blocks.push_back(block);
    block = {.file = static_cast<uint32_t>(next), .num_files = 0};
  };
  for (size_t file = 0; file < split.file_bytes.size(); ++file) {
    const bool is_long = split.file_bytes[file] > max_document_bytes;
    if (is_long) flush(file);
    ++block.num_files;
    block.num_bytes += split.file_bytes[file];
    if (is_long || block.num_bytes >= block_bytes) flush(file + 1);
  }
  flush(split.file_bytes.size());
}

}  // namespace

size_t mark_length(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

ShardListing find_texts(const fs::path& path, const std::string& ending) {
  if (ending == ".jsonl" || !fs::is_directory(path)) return find_shards(path, ending);
  const std::vector<fs::path> files = files_below(path, ending);
  if (files.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("holds no {} files, at any depth; say with --ending how the names of "
                            "texts end",
                            ending),
                {.path = path.string()});
  }
  std::map<std::string, std::vector<fs::path>> folders;  // of the first level
  for (const fs::path& file : files) {
    const fs::path below = file.lexically_relative(path);
    folders[below.has_parent_path() ? below.begin()->string() : ""].push_back(file);
  }
  if (folders.contains("") && folders.size() == 1) return find_shards(path, ending);
  ShardListing listing;
  const bool are_splits = std::ranges::all_of(
      folders, [](const auto& folder) { return !split_in_name(folder.first).empty(); });
  if (are_splits) {
    for (const auto& [name, below] : folders) {
      const std::string split = split_in_name(name);
      const auto known = std::ranges::find(listing.splits, split, &ShardSplit::name);
      if (known != listing.splits.end()) {
        known->files.insert(known->files.end(), below.begin(), below.end());
      } else {
        listing.splits.push_back({split, split.starts_with("train"), below});
      }
    }
  } else {
    listing.splits.push_back({"train", true, files});
  }
  // Not of std::ranges: clang-tidy 14 cannot read libstdc++'s subrange.
  std::stable_partition(listing.splits.begin(), listing.splits.end(),
                        [](const ShardSplit& split) { return split.is_training; });
  for (const ShardSplit& split : listing.splits) {
    listing.notes.push_back(fmt::format("{}: {} {} are split '{}'", path.string(),
                                        split.files.size(), ending, split.name));
  }
  return listing;
}

TextSplit list_text_blocks(ShardSplit listed, DocumentIs document, int64_t block_bytes,
                           int64_t max_document_bytes) {
  TextSplit split{.name = listed.name,
                  .is_training = listed.is_training,
                  .files = FileGroup(std::move(listed.files))};
  for (const fs::path& path : split.files.paths()) {
    std::error_code error;
    const FileStamp stamp = stamp_of(path, error);
    if (error) {
      throw Error(ErrorCode::io, "cannot be read",
                  {.path = path.string(), .errno_value = error.value()});
    }
    split.file_bytes.push_back(stamp.num_bytes);
    split.file_times.push_back(stamp.modified_ns);
  }
  if (document == DocumentIs::line) {
    list_lines(split, block_bytes, max_document_bytes);
  } else {
    list_files(split, block_bytes, max_document_bytes);
  }
  if (split.blocks.empty()) {
    throw Error(ErrorCode::not_found, fmt::format("split '{}': its files are empty", split.name),
                {.path = split.files.paths().front().string()});
  }
  return split;
}

}  // namespace ffkit
