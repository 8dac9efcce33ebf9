#include "forms/webdataset_export.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/readable_numbers.h"
#include "export/block_pipeline.h"
#include "export/export_names.h"
#include "export/shard_file.h"
#include "forms/tar_header.h"
#include "forms/webdataset_keys.h"
#include "forms/webdataset_members.h"
#include "text/output.h"

namespace ffkit {
namespace {

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
          fmt::format("ids that are not the keys of their samples, because a key has no ending and "
                      "no dot, is the only one and leads nowhere else: {} ({}); they are in the "
                      "members .{}",
                      with_commas(num_changed_keys_), example_, kIdMember));
      split.way_back.insert(fmt::format("--id-member {}", kIdMember));
    }
    std::vector<std::string> nulls;
    for (size_t i = 0; i < num_null_.size(); ++i) {
      if (num_null_[i] == 0) continue;
      const std::string count = with_commas(num_null_[i]);
      if (i == members.id_field()) {
        note(fmt::format("records without an id, which come back with their key for one: {}",
                         count));
      } else {
        nulls.push_back(fmt::format("'{}' in {}", schema_.fields[i].name, count));
      }
    }
    if (!nulls.empty()) {
      note("fields that are null in some records, which have no member for them", nulls);
      split.way_back.insert("--allow-missing");
    }
    if (num_empty_lists_ > 0) {
      note(fmt::format("empty lists, which have no member and come back as null: {}",
                       with_commas(num_empty_lists_)));
      split.way_back.insert("--allow-missing");
    }
    if (num_unknown_pictures_ > 0) {
      note(
          fmt::format("pictures of no known kind, whose members end in .bin and come "
                      "back as bytes: {}",
                      with_commas(num_unknown_pictures_)));
      split.way_back.insert("--allow-missing");
    }
    if (members.has_frames()) split.way_back.insert("--numbered-frames");
    if (!members.comes_back().empty()) {
      note("fields that the way back gives another name or type", members.comes_back());
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
