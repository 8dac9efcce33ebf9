#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "export/exported.h"
#include "export/files_export.h"
#include "forms/exporter.h"
#include "forms/webdataset_members.h"
#include "text/output.h"

namespace ffkit {
namespace {

// Headers of tar files, POSIX.1-2001: ustar, with a PAX header where name or size need one. Times,
// owners and modes are the same in all of them, so equal content is equal files.
//
// Written here, since libarchive's writer converts names by the locale of the process: files would
// depend on it.
constexpr int64_t kTarBlockBytes = 512;

// Zeros behind a content of `num_bytes`, 0 .. 511.
constexpr int64_t tar_padding(int64_t num_bytes) {
  return (kTarBlockBytes - num_bytes % kTarBlockBytes) % kTarBlockBytes;
}

// Zeros at the end of the file.
constexpr int64_t kTarEndBytes = 2 * kTarBlockBytes;

constexpr size_t kMaxNameBytes = 100;
constexpr int64_t kMaxOctalBytes = 077777777777;  // 8 GiB

// pax(1): "%d %s=%s\n", the number is that of the record's bytes, its own digits included.
std::string pax_record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t size = rest;
  while (rest + std::to_string(size).size() != size) size = rest + std::to_string(size).size();
  return fmt::format("{} {}={}\n", size, key, value);
}

// One header block; pax(1), "ustar Interchange Format".
std::string ustar_block(std::string_view name, int64_t num_bytes, char type) {
  std::string block(kTarBlockBytes, '\0');
  const auto put = [&block](size_t offset, std::string_view text) {
    std::memcpy(block.data() + offset, text.data(), text.size());
  };
  put(0, name.substr(0, kMaxNameBytes));
  put(100, "0000644");
  put(108, "0000000");  // user
  put(116, "0000000");  // group
  put(124, fmt::format("{:011o}", std::min(num_bytes, kMaxOctalBytes)));
  put(136, "00000000000");  // time of modification
  put(148, "        ");     // the checksum counts as spaces
  block[156] = type;
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  uint32_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  return block;
}

// What stands before the content of a regular file: a multiple of 512 bytes. `name` is relative and
// UTF-8.
std::string tar_header(std::string_view name, int64_t num_bytes) {
  const bool is_ascii =
      std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  std::string records;
  if (name.size() > kMaxNameBytes || !is_ascii) records += pax_record("path", name);
  if (num_bytes > kMaxOctalBytes) records += pax_record("size", std::to_string(num_bytes));
  if (records.empty()) return ustar_block(name, num_bytes, '0');
  std::string header = ustar_block("PaxHeaders/0", std::ssize(records), 'x') + records;
  header.append(static_cast<size_t>(tar_padding(std::ssize(records))), '\0');
  return header + ustar_block(name, num_bytes, '0');
}

// Whether WebDataset's own reader and tar(1) take the text as it is: nothing that leads elsewhere,
// no dot in the last part, where the extension would begin, and no part that begins with "__",
// which the reader passes over.
bool can_be_key(std::string_view text) {
  if (!is_safe_path(text)) return false;
  const std::string_view name = text.substr(text.rfind('/') + 1);
  return name.find('.') == std::string_view::npos && !text.starts_with("__") &&
         text.find("/__") == std::string_view::npos;
}

bool is_number(std::string_view text, size_t digits) {
  return text.size() == digits &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The key of a record, and whether its id is another text, which the member kIdMember then has.
struct WebDatasetKey {
  std::string key;
  bool is_id = false;
};

// Gives each record of a split a key that no other one has: its id, without the ending of a picture
// file; or its number, where that cannot be a key or another record has it. An id that would be the
// number of another record is no key either. Not thread-safe; takes about 16 bytes a record.
class WebDatasetKeys {
 public:
  explicit WebDatasetKeys(int64_t num_records)
      : digits_(static_cast<int>(std::to_string(std::max<int64_t>(0, num_records - 1)).size())) {}

  // `id`: of the next record, empty where it has none. `number`: of the record in the split.
  WebDatasetKey next(int64_t number, std::string_view id) {
    const std::string own = fmt::format("{:0{}}", number, digits_);
    std::string_view key = id;
    if (has_image_extension(key)) key = key.substr(0, key.rfind('.'));
    const bool is_others = is_number(key, own.size()) && key != own;
    if (can_be_key(key) && !is_others && take(key)) return {std::string(key), key == id};
    // Repeated by --indices: the same number again.
    std::string other = own;
    for (int copy = 2; !take(other); ++copy) other = fmt::format("{}-{}", own, copy);
    return {other, other == id};
  }

 private:
  bool take(std::string_view key) {
    return taken_.insert(std::hash<std::string_view>()(key)).second;
  }

  int digits_ = 1;
  std::unordered_set<size_t> taken_;  // hashes: two keys with one hash cost the second its id
};

// The tar files of a split, one after the other.
class TarShards {
 public:
  TarShards(const std::filesystem::path& folder, std::string split, int64_t max_bytes)
      : folder_(folder / split), split_(std::move(split)), max_bytes_(max_bytes) {
    make_folder(folder_);
  }

  void append(const std::string& key, const std::vector<WebDatasetMember>& members) {
    std::vector<std::string> headers;
    headers.reserve(members.size());
    int64_t num_bytes = 0;
    for (const WebDatasetMember& member : members) {
      const int64_t size = std::ssize(member.content());
      headers.push_back(tar_header(fmt::format("{}.{}", key, member.extension), size));
      num_bytes += std::ssize(headers.back()) + size + tar_padding(size);
    }
    if (file_ && file_->num_bytes() + num_bytes + kTarEndBytes > max_bytes_) close();
    if (!file_) {
      file_.emplace(folder_ / fmt::format("{}-{:06}.tar", split_, num_files_++));
    }
    for (size_t i = 0; i < members.size(); ++i) {
      file_->write(headers[i]);
      file_->write(members[i].content());
      write_zeros(tar_padding(std::ssize(members[i].content())));
    }
  }

  void close() {
    if (!file_) return;
    write_zeros(kTarEndBytes);
    file_->close();
    num_bytes_ += file_->num_bytes();
    file_.reset();
  }

  int64_t num_files() const { return num_files_; }
  int64_t num_bytes() const { return num_bytes_; }

 private:
  void write_zeros(int64_t count) { file_->write(std::string(static_cast<size_t>(count), '\0')); }

  const std::filesystem::path folder_;
  const std::string split_;
  const int64_t max_bytes_;
  std::optional<ShardFile> file_;
  int64_t num_files_ = 0;
  int64_t num_bytes_ = 0;
};

// What is told of a split at the end.
class WebDatasetReport {
 public:
  explicit WebDatasetReport(const Schema& schema)
      : schema_(schema), num_null_(schema.fields.size()) {}

  void add(const RecordView& record, const std::vector<WebDatasetMember>& members) {
    for (size_t i = 0; i < num_null_.size(); ++i) {
      if (record.is_null(i)) ++num_null_[i];
      const bool is_empty_list = !record.is_null(i) && schema_.fields[i].type == FieldType::list &&
                                 schema_.fields[i].item != FieldType::string &&
                                 record.list(i).size() == 0;
      if (is_empty_list) ++num_empty_lists_;
    }
    for (const WebDatasetMember& member : members) {
      if (member.is_unknown_picture) ++num_unknown_pictures_;
    }
  }
  void add_changed_key(int64_t number, std::string_view id, const std::string& key) {
    if (num_changed_keys_++ > 0) return;
    example_ = fmt::format("that of record {}, '{}', became '{}'", number, id, key);
  }

  void finish(const WebDatasetMembers& members, ExportedSplit& split) const {
    const auto note = [&split](std::string sentence, std::vector<std::string> items = {}) {
      split.notes.push_back({std::move(sentence), std::move(items)});
    };
    if (num_changed_keys_ > 0) {
      note(
          fmt::format("ids that cannot be keys, because a key must be unique and a plain path "
                      "without a dot: {} ({}); these ids are in the members .{}",
                      with_commas(num_changed_keys_), example_, kIdMember));
      split.way_back.insert(fmt::format("--id-member {}", kIdMember));
    }
    std::vector<std::string> nulls;
    for (size_t i = 0; i < num_null_.size(); ++i) {
      if (num_null_[i] == 0) continue;
      const std::string count = with_commas(num_null_[i]);
      if (i == members.id_field()) {
        note(fmt::format("records without an id, which get their key as the id: {}", count));
      } else {
        nulls.push_back(fmt::format("'{}' in {}", schema_.fields[i].name, count));
      }
    }
    if (!nulls.empty()) {
      note("fields that are null in some records, which then have no member", nulls);
      split.way_back.insert("--allow-missing");
    }
    if (num_empty_lists_ > 0) {
      note(fmt::format("empty lists, which have no member and come back as null: {}",
                       with_commas(num_empty_lists_)));
      split.way_back.insert("--allow-missing");
    }
    if (num_unknown_pictures_ > 0) {
      note(
          fmt::format("pictures of an unknown encoding, which become members .bin and "
                      "come back as bytes: {}",
                      with_commas(num_unknown_pictures_)));
      split.way_back.insert("--allow-missing");
    }
    if (members.has_frames()) split.way_back.insert("--numbered-frames");
    if (!members.comes_back().empty()) {
      note("fields with another name or type after converting them again", members.comes_back());
    }
  }

 private:
  const Schema& schema_;
  std::vector<int64_t> num_null_;  // by field
  int64_t num_empty_lists_ = 0;
  int64_t num_unknown_pictures_ = 0;
  int64_t num_changed_keys_ = 0;
  std::string example_;
};

}  // namespace

ExportedSplit export_webdataset(const ExportSource& source,
                                const std::filesystem::path& destination, int64_t shard_bytes) {
  using Members = std::vector<WebDatasetMember>;
  const Dataset& dataset = source.dataset();
  const WebDatasetMembers members(source.schema());
  ExportedSplit result{.split = source.split(), .num_records = dataset.num_records()};
  ProgressLine progress(result.split, dataset.manifest().file_bytes());
  WebDatasetKeys keys(dataset.manifest().num_records());
  WebDatasetReport report(source.schema());
  TarShards shards(destination, result.split, shard_bytes);
  export_records<Members>(
      source, progress,
      {.make = [&](int64_t, const RecordView& record) { return members.of(record); },
       .place =
           [&](int64_t number, const RecordView& record, Members& sample) {
             report.add(record, sample);
             std::string_view id;
             if (members.id_field() && !record.is_null(*members.id_field())) {
               id = record.string(*members.id_field());
             }
             const WebDatasetKey key = keys.next(number, id);
             if (!id.empty() && !key.is_id) {
               report.add_changed_key(number, id, key.key);
               sample.push_back(
                   {.extension = std::string(kIdMember), .data = std::as_bytes(std::span(id))});
             }
             if (sample.empty()) {
               ++result.num_skipped;
             } else {
               shards.append(key.key, sample);
             }
             sample.clear();  // its bytes are not needed any more
           },
       .write = nullptr});
  shards.close();
  report.finish(members, result);
  result.num_files = shards.num_files();
  result.num_bytes = shards.num_bytes();
  return result;
}

}  // namespace ffkit
