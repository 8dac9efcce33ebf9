#include <fmt/format.h>
#include <simdjson.h>
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

#include "sources/archives/tar_index.h"
#include "sources/files/file_group.h"
#include "sources/files/shard_files.h"
#include "sources/jsonl/json_fields.h"
#include "sources/jsonl/line_index.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
namespace dom = simdjson::dom;

struct JsonlSplit {
  FileGroup files;
  std::vector<int64_t> file_bytes;
  std::vector<uint32_t> file_crc32c;
  std::vector<size_t> first_line;  // of each file, in `lines`; then the number of all
  std::vector<TextLine> lines;
};

class Jsonl : public Source {
 public:
  Jsonl(const fs::path& path, DType token_dtype, int64_t max_line_bytes)
      : path_(path), max_line_bytes_(max_line_bytes) {
    constexpr int64_t kLeast = 1 << 10;
    if (max_line_bytes < kLeast || max_line_bytes > int64_t{simdjson::SIMDJSON_MAXSIZE_BYTES}) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("lines cannot have up to {} bytes; the limit must be {} .. {}",
                              max_line_bytes, kLeast, simdjson::SIMDJSON_MAXSIZE_BYTES));
    }
    if (token_dtype != DType::u16 && token_dtype != DType::i32 && token_dtype != DType::i64) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("tokens cannot be {}; u16, i32 or i64", to_string(token_dtype)));
    }
    ShardListing listing = find_shards(path, ".jsonl");
    notes_ = std::move(listing.notes);
    for (ShardSplit& split : listing.splits) add_split(std::move(split));
    find_fields(token_dtype);
    for (const JsonField& field : fields_) schema_.fields.push_back(field.field());
  }

  const std::vector<SourceSplit>& splits() const override { return infos_; }
  Schema schema() const override { return schema_; }
  const std::vector<std::string>& notes() const override { return notes_; }

  std::map<std::string, std::string> facts(size_t split) const override {
    return {{"kind", "jsonl"},
            {"path", fs::absolute(path_).string()},
            {"files", std::to_string(splits_.at(split).files.paths().size())}};
  }

  std::vector<fs::path> roots() const override {
    return fs::is_directory(path_) ? std::vector{path_} : std::vector<fs::path>{};
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return range_of(splits_.at(split), static_cast<size_t>(index)).num_bytes;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const JsonlSplit& from = splits_.at(split);
    const auto line = static_cast<size_t>(index);
    return {.name = fmt::format("{}:{}", name_of(from.files.paths()[file_of(from, line)]),
                                from.lines.at(line).number),
            .num_bytes = range_of(from, line).num_bytes};
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    const JsonlSplit& from = splits_.at(split);
    std::vector<SourceInput> inputs;
    for (size_t i = 0; i < from.file_bytes.size(); ++i) {
      inputs.push_back({.name = name_of(from.files.paths()[i]),
                        .num_bytes = from.file_bytes[i],
                        .crc32c = from.file_crc32c[i]});
    }
    return inputs;
  }

  std::string describe(size_t split, int64_t index) const override {
    const JsonlSplit& from = splits_.at(split);
    const auto line = static_cast<size_t>(index);
    return fmt::format("{}:{}", from.files.paths()[file_of(from, line)].string(),
                       from.lines.at(line).number);
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    try {
      set_json_fields(record, fields_,
                      parse(splits_.at(split), static_cast<size_t>(index), buffers), buffers);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::io) throw;
      throw Error(error.code(), error.what(), {.path = describe(split, index)});
    }
  }

 private:
  void add_split(ShardSplit listed) {
    SourceSplit info{.name = listed.name, .is_training = listed.is_training};
    JsonlSplit split{.files = FileGroup(std::move(listed.files))};
    for (const fs::path& path : split.files.paths()) {
      const InputFile file(path);
      const LineIndex index = index_lines(file);
      split.first_line.push_back(split.lines.size());
      split.lines.insert(split.lines.end(), index.lines.begin(), index.lines.end());
      split.file_bytes.push_back(file.size());
      split.file_crc32c.push_back(index.crc32c);
      info.num_bytes += file.size();
    }
    split.first_line.push_back(split.lines.size());
    info.num_samples = static_cast<int64_t>(split.lines.size());
    if (split.lines.empty()) {
      throw Error(ErrorCode::not_found,
                  fmt::format("split '{}': there are no lines in it", listed.name),
                  {.path = split.files.paths().front().string()});
    }
    infos_.push_back(std::move(info));
    splits_.push_back(std::move(split));
  }

  // From the first line; what is null or empty there, from those that follow.
  void find_fields(DType token_dtype) {
    constexpr int64_t kMaxLines = 1000;
    SampleBuffers buffers;
    std::string unknown;
    const int64_t num_lines = std::min(kMaxLines, infos_[0].num_samples);
    for (int64_t line = 0; line < num_lines && (line == 0 || !unknown.empty()); ++line) {
      buffers.clear();
      try {
        const dom::object object = parse(splits_[0], static_cast<size_t>(line), buffers);
        if (line == 0) fields_ = json_fields(object, token_dtype);
        unknown = learn_json_kinds(fields_, object);
      } catch (const Error& error) {
        throw Error(error.code(), error.what(), {.path = describe(0, line)});
      }
    }
    if (unknown.empty()) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is null or empty in the first {} lines, which does not tell its "
                            "type; put a line with a value first",
                            unknown, num_lines),
                {.path = describe(0, 0)});
  }

  // Below the source's folder.
  std::string name_of(const fs::path& file) const {
    return file == path_ ? file.filename().string() : file.lexically_relative(path_).string();
  }

  static size_t file_of(const JsonlSplit& split, size_t line) {
    const auto next = std::ranges::upper_bound(split.first_line, line);
    return static_cast<size_t>(next - split.first_line.begin()) - 1;
  }

  static FileRange range_of(const JsonlSplit& split, size_t line) {
    const size_t file = file_of(split, line);
    const bool is_last = line + 1 == split.first_line[file + 1];
    const int64_t end = is_last ? split.file_bytes[file] : split.lines[line + 1].offset;
    return {split.lines[line].offset, end - split.lines[line].offset};
  }

  // The object on a line. It lives in the thread's parser until the thread's next call.
  dom::object parse(const JsonlSplit& split, size_t line, SampleBuffers& buffers) const {
    const FileRange range = range_of(split, line);
    if (range.num_bytes > max_line_bytes_) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("has {} bytes, and a line may have {}; cut it into several, or raise "
                              "the limit with --max-line-bytes",
                              range.num_bytes, max_line_bytes_));
    }
    const auto length = static_cast<size_t>(range.num_bytes);
    const std::span<std::byte> bytes = buffers.bytes(length + simdjson::SIMDJSON_PADDING);
    split.files.read_at(file_of(split, line), range.offset, bytes.first(length));
    std::ranges::fill(bytes.subspan(length), std::byte{0});
    dom::object object;
    const auto error = parsers_.local()
                           .parse(reinterpret_cast<const char*>(bytes.data()), length, false)
                           .get_object()
                           .get(object);
    if (error == simdjson::INCORRECT_TYPE) {
      throw Error(ErrorCode::invalid_argument, "is no JSON object; each line must be one, {...}");
    }
    if (error != simdjson::SUCCESS) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("is no JSON: {}", simdjson::error_message(error)));
    }
    return object;
  }

  const fs::path path_;
  const int64_t max_line_bytes_;
  std::vector<JsonlSplit> splits_;
  std::vector<SourceSplit> infos_;
  std::vector<JsonField> fields_;
  Schema schema_;
  std::vector<std::string> notes_;
  mutable tbb::enumerable_thread_specific<dom::parser> parsers_;
};

}  // namespace

std::unique_ptr<Source> open_jsonl(const fs::path& path, DType token_dtype,
                                   int64_t max_line_bytes) {
  return std::make_unique<Jsonl>(path, token_dtype, max_line_bytes);
}

}  // namespace ffkit
