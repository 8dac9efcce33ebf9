#include <simdjson.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <new>
#include <string_view>

#include <ffkit/base/machine.h>
#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/jsonl.h>

#include "archives/tar_index.h"
#include "base/printable.h"
#include "converter/input/cancel.h"
#include "converter/input/kind_options.h"
#include "converter/input/listed_source.h"
#include "converter/input/source_error.h"
#include "converter/input/thread_limit.h"
#include "converter/places/brace_list.h"
#include "converter/places/place.h"
#include "files/corpus_files.h"
#include "files/file_group.h"
#include "files/json_documents.h"
#include "files/text_files.h"
#include "jsonl/json_fields.h"
#include "numbers/json_members.h"

namespace ffkit {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kTypedBytes = 256 << 10;  // whose types are looked at together

struct JsonlSplit {
  TextFiles files;
  std::vector<JsonLayout> layouts;  // of each file
  std::vector<uint32_t> file_crc32c;
  std::vector<size_t> first_line;  // of each file, in `lines`; then the number of all
  std::vector<TextLine> lines;
};

// Neighbouring lines of one file.
struct LineRange {
  size_t split = 0;
  size_t begin = 0;
  size_t end = 0;
};

dom::object object_of(dom::parser& parser, std::string_view text) {
  dom::object object;
  const auto error = parser.parse(text.data(), text.size(), false).get_object().get(object);
  if (error == simdjson::INCORRECT_TYPE) {
    throw Error(ErrorCode::invalid_argument,
                "the text is not a JSON object; write one object, {...}, on each line");
  }
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error == simdjson::SUCCESS) return object;
  for (const JsonMember& member : json_members(text)) {
    if (!member.problem.empty()) {
      throw error_of(ErrorCode::corrupt, "'{}' {}", printable(member.key), member.problem);
    }
  }
  throw error_of(ErrorCode::corrupt, "the text is not valid JSON: {}",
                 simdjson::error_message(error));
}

ShardListing json_files(const fs::path& path) {
  return errors_only(path, [&] { return find_corpus(path, {.takes_texts = false}).listing; });
}

class Jsonl : public ListedSource {
 public:
  Jsonl(const fs::path& path, const JsonlOptions& options) : path_(path), options_(options) {
    check_options(options);
    ShardListing listing = files_to_take(options.group, [&] { return json_files(path); });
    notes_ = std::move(listing.notes);
    for (ShardSplit& split : listing.splits) add_split(std::move(split));
    if (const auto* const fields = found_before<std::vector<JsonField>>(options.group)) {
      fields_ = *fields;
    } else {
      find_fields();
      settle_types();
      keep_found(options.group, fields_);
    }
    for (const JsonField& field : fields_) schema_.fields.push_back(field.field());
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    return facts_of_files("jsonl", path_, splits_.at(split).files.paths().size());
  }

  std::vector<fs::path> roots() const override { return root_if_folder(path_); }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return range_of(splits_.at(split), static_cast<size_t>(index)).num_bytes;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const JsonlSplit& from = splits_.at(split);
    const auto line = static_cast<size_t>(index);
    return {
        .name = place_of(from, line, name_below(path_, from.files.paths()[file_of(from, line)])),
        .num_bytes = range_of(from, line).num_bytes};
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    const JsonlSplit& from = splits_.at(split);
    return inputs_of_texts(path_, from.files, from.file_crc32c);
  }

  void will_read(size_t split, int64_t index) const override {
    const JsonlSplit& from = splits_.at(split);
    const auto line = static_cast<size_t>(index);
    const FileRange range = range_of(from, line);
    from.files.will_read(file_of(from, line), range.offset, range.num_bytes);
  }

  std::string describe(size_t split, int64_t index) const override {
    const JsonlSplit& from = splits_.at(split);
    const auto line = static_cast<size_t>(index);
    return place_of(from, line, from.files.paths()[file_of(from, line)].string());
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    try {
      set_json_fields(record, fields_,
                      parse(splits_.at(split), static_cast<size_t>(index), buffers), buffers);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::io) throw;
      throw error.within({.path = describe(split, index)});
    }
  }

 private:
  void add_split(ShardSplit listed) {
    SourceSplit info{.name = listed.name, .is_training = listed.is_training};
    JsonlSplit split{.files = TextFiles(std::move(listed.files), {.is_json = true},
                                        {options_.temporary_folder, options_.cancel})};
    int64_t num_marks = 0;
    for (size_t file = 0; file < split.files.paths().size(); ++file) {
      const LineIndex index = index_lines(split.files, file);
      split.first_line.push_back(split.lines.size());
      split.lines.insert(split.lines.end(), index.lines.begin(), index.lines.end());
      split.layouts.push_back(index.layout);
      split.file_crc32c.push_back(index.crc32c);
      info.num_bytes += split.files.num_bytes(file);
      num_marks += index.has_mark ? 1 : 0;
    }
    split.first_line.push_back(split.lines.size());
    info.num_samples = std::ssize(split.lines);
    if (split.lines.empty()) {
      throw NoSamples(source_error(split.files.paths().front(), ErrorCode::not_found,
                                   "split '{}' has no lines", listed.name));
    }
    note_texts(listed.name, split.files, num_marks, notes_);
    infos_.push_back(std::move(info));
    splits_.push_back(std::move(split));
  }

  // From the first line that is an object: bad ones before it are bad samples.
  void find_fields() {
    std::optional<Error> first_error;
    SampleBuffers buffers;
    for (int64_t line = 0; line < infos_[0].num_samples; ++line) {
      throw_if_cancelled(options_.cancel);
      buffers.clear();
      std::optional<dom::object> object;
      try {
        object = parse(splits_[0], static_cast<size_t>(line), buffers);
      } catch (const Error& error) {
        if (is_out_of_memory(error) || error.code() == ErrorCode::io) throw;
        if (!first_error) first_error = error.within({.path = describe(0, line)});
        continue;
      }
      try {
        fields_ = json_fields(*object, {options_.token_dtype, options_.real_dtype});
      } catch (const Error& error) {
        throw error.within({.path = describe(0, line)});
      }
      return;
    }
    throw Error(*first_error);
  }

  // Over all lines, where one may change what the first has said: every field of whole numbers may
  // be one of reals.
  void settle_types() {
    const auto may_change = [](const JsonField& field) {
      return !field.is_known() || field.kind == JsonKind::integer ||
             field.kind == JsonKind::integers;
    };
    if (std::ranges::none_of(fields_, may_change)) return;
    const std::vector<LineRange> ranges = line_ranges();
    std::vector<std::vector<SeenKinds>> seen(ranges.size());
    const int num_threads = options_.num_threads > 0 ? options_.num_threads : usable_cores();
    tbb::task_arena arena(num_startable_threads(num_threads));
    // Errors of the disk come out of the loop as they are.
    arena.execute([&] {
      tbb::parallel_for(size_t{0}, ranges.size(), [&](size_t i) {
        throw_if_cancelled(options_.cancel);
        seen[i] = kinds_in(ranges[i]);
      });
    });
    chunks_.clear();
    for (size_t field = 0; field < fields_.size(); ++field) {
      SeenKinds all;
      for (const std::vector<SeenKinds>& range : seen) all.add(range[field]);
      fields_[field].kind = all.settled();
      if (fields_[field].is_known()) continue;
      throw source_error(path_, ErrorCode::invalid_argument,
                         "'{}' is null or empty in all lines{}, so its type is unknown; write a "
                         "value into one line, or remove this member",
                         fields_[field].name,
                         options_.group == nullptr ? "" : " of the first files");
    }
  }

  std::vector<LineRange> line_ranges() const {
    std::vector<LineRange> ranges;
    for (size_t s = 0; s < splits_.size(); ++s) {
      const JsonlSplit& split = splits_[s];
      for (size_t file = 0; file + 1 < split.first_line.size(); ++file) {
        size_t begin = split.first_line[file];
        for (size_t line = begin; line < split.first_line[file + 1]; ++line) {
          const FileRange last = range_of(split, line);
          // A line beyond the limit is a bad sample, and may be as long as the file.
          const bool is_long = last.num_bytes > options_.max_line_bytes;
          const bool is_last = line + 1 == split.first_line[file + 1];
          const int64_t num_bytes = last.offset + last.num_bytes - split.lines[begin].offset;
          if (!is_long && !is_last && num_bytes < kTypedBytes) continue;
          const size_t end = is_long ? line : line + 1;
          if (begin < end) ranges.push_back({s, begin, end});
          begin = line + 1;
        }
      }
    }
    return ranges;
  }

  std::vector<SeenKinds> kinds_in(const LineRange& range) const {
    std::vector<SeenKinds> seen(fields_.size());
    const JsonlSplit& split = splits_[range.split];
    const size_t file = file_of(split, range.begin);
    const int64_t begin = split.lines[range.begin].offset;
    const FileRange last = range_of(split, range.end - 1);
    const int64_t num_bytes = last.offset + last.num_bytes - begin;
    // Kept from range to range: fresh memory would take as long as parsing.
    std::vector<std::byte>& bytes = chunks_.local();
    const size_t needed = static_cast<size_t>(num_bytes) + simdjson::SIMDJSON_PADDING;
    if (bytes.size() < needed) bytes.resize(needed);
    split.files.read_at(file, begin, std::span(bytes).first(static_cast<size_t>(num_bytes)));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                                static_cast<size_t>(num_bytes));
    dom::parser& parser = parsers_.local();
    for (size_t line = range.begin; line < range.end; ++line) {
      const FileRange one = range_of(split, line);
      const std::string_view document = document_of(
          text.substr(static_cast<size_t>(one.offset - begin), static_cast<size_t>(one.num_bytes)),
          split.layouts[file]);
      dom::object object;
      // What is bad is said when it is read.
      if (parser.parse(document.data(), document.size(), false).get_object().get(object) ==
          simdjson::SUCCESS) {
        see_json_kinds(fields_, object, seen);
      }
    }
    return seen;
  }

  static std::string place_of(const JsonlSplit& split, size_t line, const std::string& file) {
    return split.layouts[file_of(split, line)] == JsonLayout::lines
               ? fmt::format("{}:{}", file, split.lines.at(line).number)
               : fmt::format("{}[{}]", file, split.lines.at(line).number);
  }

  static size_t file_of(const JsonlSplit& split, size_t line) {
    const auto next = std::ranges::upper_bound(split.first_line, line);
    return static_cast<size_t>(next - split.first_line.begin()) - 1;
  }

  static FileRange range_of(const JsonlSplit& split, size_t line) {
    const size_t file = file_of(split, line);
    const bool is_last = line + 1 == split.first_line[file + 1];
    const int64_t end = is_last ? split.files.num_bytes(file) : split.lines[line + 1].offset;
    return {split.lines[line].offset, end - split.lines[line].offset};
  }

  // The object on a line. It lives in the thread's parser until the thread's next call.
  dom::object parse(const JsonlSplit& split, size_t line, SampleBuffers& buffers) const {
    const FileRange range = range_of(split, line);
    if (range.num_bytes > options_.max_line_bytes) {
      throw error_of(ErrorCode::unsupported,
                     "the line has {} bytes, more than the limit of {} bytes; split the line into "
                     "several lines, or raise the limit with {}",
                     range.num_bytes, options_.max_line_bytes, option_name("max_line_bytes"));
    }
    const auto length = static_cast<size_t>(range.num_bytes);
    const std::span<std::byte> bytes = buffers.bytes(length + simdjson::SIMDJSON_PADDING);
    split.files.read_at(file_of(split, line), range.offset, bytes.first(length));
    std::ranges::fill(bytes.subspan(length), std::byte{0});
    return object_of(parsers_.local(),
                     document_of({reinterpret_cast<const char*>(bytes.data()), length},
                                 split.layouts[file_of(split, line)]));
  }

  const fs::path path_;
  const JsonlOptions options_;
  std::vector<JsonlSplit> splits_;
  std::vector<JsonField> fields_;
  mutable tbb::enumerable_thread_specific<dom::parser> parsers_;
  mutable tbb::enumerable_thread_specific<std::vector<std::byte>> chunks_;
};

}  // namespace

std::unique_ptr<Source> open_jsonl(const fs::path& path, const JsonlOptions& options) {
  const PlacesListed listed;
  return std::make_unique<Jsonl>(Place(path).path(), options);
}

FileListing jsonl_files(const fs::path& path, const JsonlOptions& /*options*/) {
  const PlacesListed listed;
  return file_listing(json_files(Place(path).path()));
}

void describe(JsonlOptions& options, OptionTable& table) {
  table.add_choice("token-dtype", options.token_dtype, {"u16", "i32", "i64"},
                   "Data type for arrays of integers");
  table.add_choice("real-dtype", options.real_dtype, {"f64", "f32"},
                   "Data type for arrays of numbers that are not whole");
  table
      .add("max-line-bytes", options.max_line_bytes,
           "Limit for the size of a line; a longer line is a bad sample. To parse a line, each "
           "thread needs up to ten times its size in memory")
      .set_size()
      .set_range(1 << 10, 0xFFFFFFFF);
}

SourceKind jsonl_kind() {
  return {.name = "jsonl",
          .description =
              "JSON lines with texts, numbers and tokens: one file, or a folder of files. The "
              "files may be compressed",
          .example = "/data/tokens /fast/tokens --token-dtype u16",
          .options = make_source_options<KindOptions<JsonlOptions, open_jsonl, jsonl_files>>,
          .place = 60};
}

}  // namespace ffkit
