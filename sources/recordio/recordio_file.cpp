#include "recordio/recordio_file.h"

#include <simdjson.h>

#include <cstring>

#include "base/little_endian.h"
#include "base/number_text.h"
#include "converter/input/cancel.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "files/text_files.h"
#include "rows/row_table.h"

namespace ffkit {
namespace {

constexpr uint32_t kRecordIoMagic = 0xCED7230A;
constexpr size_t kPartHeaderBytes = 8;
constexpr size_t kImageHeaderBytes = 24;

enum class PartKind : uint8_t { whole, first, between, last };

struct PartHeader {
  PartKind kind = PartKind::whole;
  uint32_t length = 0;

  size_t padded() const { return (size_t{length} + 3) / 4 * 4; }
};

// Nothing for bytes that are no header.
std::optional<PartHeader> part_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kPartHeaderBytes) return std::nullopt;
  if (load_le<uint32_t>(bytes.data()) != kRecordIoMagic) return std::nullopt;
  const auto word = load_le<uint32_t>(bytes.data() + sizeof(uint32_t));
  constexpr int kLengthBits = 29;
  const uint32_t kind = word >> kLengthBits;
  if (kind > static_cast<uint32_t>(PartKind::last)) return std::nullopt;
  return PartHeader{static_cast<PartKind>(kind), word & ((1U << kLengthBits) - 1)};
}

bool begins_record(PartKind kind) {
  return kind == PartKind::whole || kind == PartKind::first;
}

// Whether a part of `kind` may stand behind one of `before` in a record.
bool follows(PartKind before, PartKind kind) {
  return (before == PartKind::first || before == PartKind::between) &&
         (kind == PartKind::between || kind == PartKind::last);
}

bool ends_record(PartKind kind) {
  return kind == PartKind::whole || kind == PartKind::last;
}

Error damaged_record(const char* what) {
  return error_of(ErrorCode::corrupt, "the record is damaged: {}; get the file again", what);
}

// The data of a part cannot have it at a multiple of 4 bytes: then they are more than the part.
bool holds_magic(std::span<const std::byte> data) {
  bool found = false;
  for (size_t i = 0; i + sizeof(kRecordIoMagic) <= data.size(); i += sizeof(kRecordIoMagic)) {
    found |= load_le<uint32_t>(data.data() + i) == kRecordIoMagic;
  }
  return found;
}

// Blocks are small where records are large and most of the file is passed over, larger where each
// block has many.
constexpr size_t kMostBlockBytes = 1 << 20;

// Bytes of the record at `offset` with the headers of its parts; nothing where there is no whole
// one.
std::optional<int64_t> record_length(FileWindow& window, int64_t offset) {
  std::optional<PartHeader> before;
  for (int64_t at = offset;;) {
    const auto header = part_header(window.at(at, kPartHeaderBytes));
    if (!header) return std::nullopt;
    if (before ? !follows(before->kind, header->kind) : !begins_record(header->kind)) {
      return std::nullopt;
    }
    at += static_cast<int64_t>(kPartHeaderBytes);
    if (header->length > window.num_bytes() - at) return std::nullopt;
    at += static_cast<int64_t>(header->padded());
    // The last record of a file may lack its padding.
    if (ends_record(header->kind)) return std::min(at, window.num_bytes()) - offset;
    before = header;
  }
}

// Whether a record begins at `offset`, or the file ends there.
bool begins_or_ends(FileWindow& window, int64_t offset) {
  if (offset == window.num_bytes()) return true;
  const auto header = part_header(window.at(offset, kPartHeaderBytes));
  return header && begins_record(header->kind);
}

// Where the next record begins, at `offset` or behind; the end of the file where none does.
int64_t next_record(FileWindow& window, int64_t offset, const std::atomic<bool>* cancel) {
  constexpr size_t kSearchBytes = 1 << 16;
  for (;;) {
    throw_if_cancelled(cancel);
    const auto block = window.at(offset, kSearchBytes);
    if (block.size() < kPartHeaderBytes) return window.num_bytes();
    for (size_t i = 0; i + kPartHeaderBytes <= block.size(); i += sizeof(kRecordIoMagic)) {
      if (load_le<uint32_t>(block.data() + i) != kRecordIoMagic) continue;
      const auto header = part_header(block.subspan(i));
      if (header && begins_record(header->kind)) return offset + static_cast<int64_t>(i);
    }
    // The last four bytes of a block may be the magic of a header that goes on behind it.
    offset += static_cast<int64_t>((block.size() - sizeof(kRecordIoMagic)) / 4 * 4);
  }
}

// `head`: the record's first bytes. `behind(n)`: those from its byte n on.
template <typename Behind>
void describe_record(std::span<const std::byte> head, size_t num_bytes, const Behind& behind,
                     RecordIoEntry& entry) {
  if (num_bytes >= kImageHeaderBytes && head.size() >= kImageHeaderBytes) {
    entry.flag = load_le<uint32_t>(head.data());
    std::memcpy(&entry.label, head.data() + 4, sizeof(float));
    entry.id = load_le<uint64_t>(head.data() + 8);
    entry.id2 = load_le<uint64_t>(head.data() + 16);
    const uint64_t header_bytes = kImageHeaderBytes + uint64_t{entry.flag} * sizeof(float);
    const bool has_room = header_bytes <= num_bytes;
    if (has_room && entry.flag == 1) std::memcpy(&entry.label, head.data() + 24, sizeof(float));
    if (has_room && header_bytes == num_bytes) {
      entry.content = RecordIoContent::header_only;
    } else if (has_room && begins_as_picture(behind(header_bytes))) {
      entry.content = RecordIoContent::picture_with_header;
      return;
    }
  }
  if (begins_as_picture(head)) entry.content = RecordIoContent::picture;
}

void describe_entry(FileWindow& window, int64_t max_bytes, RecordIoEntry& entry) {
  const int64_t offset = entry.range.offset;
  const auto header = part_header(window.at(offset, kPartHeaderBytes));
  if (header->kind != PartKind::whole) {
    if (entry.range.num_bytes > max_bytes) return;
    SampleBuffers buffers;
    const auto parts = window.at(offset, static_cast<size_t>(entry.range.num_bytes));
    const auto record = join_recordio_parts(parts, buffers);
    describe_record(
        record, record.size(), [&](size_t from) { return record.subspan(from); }, entry);
    return;
  }
  const size_t num_bytes = header->length;
  const auto behind = [&](size_t from) {
    return window.at(offset + static_cast<int64_t>(kPartHeaderBytes + from),
                     std::min(num_bytes - from, kContentHeadBytes));
  };
  // A copy: behind() replaces the bytes.
  const auto head = behind(0);
  const std::vector<std::byte> copy(head.begin(), head.end());
  describe_record(copy, num_bytes, behind, entry);
}

constexpr int64_t kMaxRecordIoListBytes = 1LL << 30;

std::vector<std::string_view> split_at_tabs(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

// Calls use(line number from 1, columns) for each line that is not empty.
template <typename Use>
void for_each_row_of_list(const fs::path& path, const Use& use) {
  const std::string text = read_source_text(path, kMaxRecordIoListBytes);
  if (!simdjson::validate_utf8(text)) {
    throw source_error(path, ErrorCode::invalid_argument, "the file is not UTF-8 text; remove it");
  }
  for_each_line(text, [&](std::string_view line, int64_t number) {
    if (!line.empty()) use(number, split_at_tabs(line));
  });
}

}  // namespace

std::span<const std::byte> join_recordio_parts(std::span<const std::byte> parts,
                                               SampleBuffers& buffers) {
  const auto only = part_header(parts);
  if (!only) throw damaged_record("no record begins here");
  if (only->kind == PartKind::whole) {
    if (kPartHeaderBytes + only->length > parts.size()) {
      throw error_of(ErrorCode::corrupt,
                     "the record is damaged: its header says {} bytes, but there are only {} "
                     "bytes; get the file again",
                     only->length, parts.size() - kPartHeaderBytes);
    }
    if (kPartHeaderBytes + only->padded() < parts.size()) {
      throw damaged_record("no other record begins after its end");
    }
    const auto record = parts.subspan(kPartHeaderBytes, only->length);
    if (holds_magic(record)) throw damaged_record("other records begin inside it");
    return record;
  }
  std::vector<std::byte>& record = buffers.array();
  record.clear();
  record.reserve(parts.size());
  std::optional<PartHeader> before;
  while (!before || !ends_record(before->kind)) {
    const auto header = part_header(parts);
    if (!header ||
        (before ? !follows(before->kind, header->kind) : header->kind != PartKind::first)) {
      throw damaged_record(before ? "one of its parts is missing" : "its first part is missing");
    }
    if (kPartHeaderBytes + header->length > parts.size()) {
      throw damaged_record("one of its parts is cut short");
    }
    if (before) {
      const auto magic = std::as_bytes(std::span(&kRecordIoMagic, 1));
      record.insert(record.end(), magic.begin(), magic.end());
    }
    const auto data = parts.subspan(kPartHeaderBytes, header->length);
    if (holds_magic(data)) throw damaged_record("other records begin inside it");
    record.insert(record.end(), data.begin(), data.end());
    parts = parts.subspan(std::min(kPartHeaderBytes + header->padded(), parts.size()));
    before = header;
  }
  if (!parts.empty()) throw damaged_record("no other record begins after its end");
  return record;
}

float RecordIoImage::only_label() const {
  if (flag != 1) return label;
  float value = 0;
  std::memcpy(&value, labels.data(), sizeof(float));
  return value;
}

std::optional<RecordIoImage> split_recordio_image(std::span<const std::byte> record) {
  if (record.size() < kImageHeaderBytes) return std::nullopt;
  RecordIoImage image{.flag = load_le<uint32_t>(record.data()),
                      .label = 0,
                      .id = load_le<uint64_t>(record.data() + 8),
                      .id2 = load_le<uint64_t>(record.data() + 16),
                      .labels = {},
                      .data = {}};
  std::memcpy(&image.label, record.data() + 4, sizeof(float));
  const uint64_t labels_bytes = uint64_t{image.flag} * sizeof(float);
  if (labels_bytes > record.size() - kImageHeaderBytes) return std::nullopt;
  image.labels = record.subspan(kImageHeaderBytes, labels_bytes);
  image.data = record.subspan(kImageHeaderBytes + labels_bytes);
  return image;
}

std::vector<RecordIoEntry> scan_recordio(const fs::path& path, int64_t num_bytes,
                                         const ReadBytes& read, int64_t max_bytes,
                                         size_t block_bytes, const std::atomic<bool>* cancel) {
  FileWindow window(num_bytes, read, block_bytes, kMostBlockBytes);
  std::vector<RecordIoEntry> entries;
  if (num_bytes > 0 && !part_header(window.at(0, kPartHeaderBytes))) {
    const ContentKind kind = content_kind(window.at(0, kContentHeadBytes));
    if (kind == ContentKind::unknown) {
      throw source_error(
          path, ErrorCode::unsupported,
          "the file is not a RecordIO file: it does not begin with the bytes 0a 23 d7 ce");
    }
    throw source_error(path, ErrorCode::unsupported, "the file is {}, not a RecordIO file",
                       content_name(kind));
  }
  for (int64_t offset = 0; offset < num_bytes;) {
    throw_if_cancelled(cancel);
    RecordIoEntry entry{.range = {offset, 0}};
    const auto length = record_length(window, offset);
    if (length) {
      entry.range.num_bytes = *length;
      describe_entry(window, max_bytes, entry);
    }
    // Where no record is behind it, its own length may be the damage.
    if (!length || !begins_or_ends(window, offset + *length)) {
      entry.content = RecordIoContent::damaged;
      entry.range.num_bytes = next_record(window, offset + 4, cancel) - offset;
    }
    offset += entry.range.num_bytes;
    entries.push_back(entry);
  }
  return entries;
}

std::vector<std::string> read_recordio_keys(const fs::path& idx,
                                            std::span<const RecordIoEntry> records) {
  std::vector<std::string> keys(records.size());
  std::vector<bool> has_key(records.size());
  size_t num_keys = 0;
  for_each_row_of_list(idx, [&](int64_t number, std::span<const std::string_view> columns) {
    const auto offset = columns.size() == 2 ? number_of_text<int64_t>(columns[1]) : std::nullopt;
    if (!offset) {
      throw source_error(idx, ErrorCode::invalid_argument,
                         "line {} must have a key, a tab and an offset; remove the file, or create "
                         "it again with MXNet's tools/rec2idx.py",
                         number);
    }
    const auto record = std::ranges::lower_bound(
        records, *offset, {}, [](const RecordIoEntry& entry) { return entry.range.offset; });
    const auto i = static_cast<size_t>(record - records.begin());
    if (record == records.end() || record->range.offset != *offset || has_key[i]) {
      throw source_error(idx, ErrorCode::invalid_argument,
                         "line {} says that record '{}' begins at byte {}, but {}; remove the "
                         "file, or create it again with MXNet's tools/rec2idx.py",
                         number, columns[0], *offset,
                         record != records.end() && record->range.offset == *offset
                             ? "another line has this byte"
                             : "no record of the .rec begins there");
    }
    has_key[i] = true;
    keys[i] = std::string(columns[0]);
    ++num_keys;
  });
  if (num_keys != records.size()) {
    throw source_error(idx, ErrorCode::invalid_argument,
                       "the index has only {} of the {} records in the .rec; remove the index, or "
                       "create it again with MXNet's tools/rec2idx.py",
                       num_keys, records.size());
  }
  return keys;
}

std::map<uint64_t, ListedPicture> read_picture_list(const fs::path& lst) {
  std::map<uint64_t, ListedPicture> list;
  for_each_row_of_list(lst, [&](int64_t number, std::span<const std::string_view> columns) {
    const auto id = columns.size() >= 3 ? number_of_text<uint64_t>(columns[0]) : std::nullopt;
    ListedPicture picture;
    bool is_line = id.has_value();
    for (size_t i = 1; is_line && i + 1 < columns.size(); ++i) {
      const auto label = number_of_text<float>(columns[i]);
      is_line = label.has_value();
      picture.labels.push_back(label.value_or(0));
    }
    if (!is_line) {
      throw source_error(lst, ErrorCode::invalid_argument,
                         "line {} must have an id, labels and a name, with tabs between them; "
                         "correct the line, or remove the file",
                         number);
    }
    picture.name = std::string(columns.back());
    if (!list.emplace(*id, std::move(picture)).second) {
      throw source_error(lst, ErrorCode::invalid_argument,
                         "line {} repeats the id {} of an earlier line; remove the file", number,
                         *id);
    }
  });
  return list;
}

std::vector<std::string> names_of_records(const std::map<uint64_t, ListedPicture>& list,
                                          std::span<const RecordIoEntry> records,
                                          std::string& why_not) {
  std::vector<std::string> names;
  names.reserve(records.size());
  for (const RecordIoEntry& record : records) {
    const auto found = list.find(record.id);
    if (found == list.end()) {
      why_not = fmt::format("has no line for the id {}", record.id);
      return {};
    }
    const std::vector<float>& labels = found->second.labels;
    const bool is_same = record.flag > 1 ? labels.size() == record.flag
                                         : labels.size() == 1 && labels[0] == record.label;
    if (!is_same) {
      why_not = fmt::format("has other labels for the id {} than its record", record.id);
      return {};
    }
    names.push_back(found->second.name);
  }
  return names;
}

}  // namespace ffkit
