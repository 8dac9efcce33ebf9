#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/v1.h>
#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/schema.h>
#include <ffkit/format/v1_writer.h>
#include <ffkit/image/dct_picture.h>

#include "base/bytes/pickle.h"
#include "base/file/file.h"
#include "base/make_error.h"
#include "format/dataset/manifest_text.h"
#include "format/schema/label_field.h"
#include "input/cancel.h"
#include "merge/folder_lock.h"
#include "output/destination.h"
#include "output/destination_checks.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRecordsBetweenReports = 64;
constexpr int64_t kTriedRecords = 512;
constexpr int64_t kV1HeaderBytes = 12;  // once in a file, and for each of its records

std::optional<size_t> first_of(const Schema& schema, std::initializer_list<FieldType> types) {
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (std::ranges::find(types, schema.fields[i].type) != types.end()) return i;
  }
  return std::nullopt;
}

bool holds_bytes(const Field& field) {
  return field.type == FieldType::image || field.type == FieldType::bytes;
}

int64_t integer(const FieldView& value, DType dtype) {
  return visit_dtype(dtype, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<int64_t>(value.scalar<T>());
    } else {
      return 0;  // find_label_field() takes integers only
    }
  });
}

// Makes v1 records of a data set's records.
class V1Payloads {
 public:
  // `content` is not automatic; `field` as in V1Options. Throws Error(invalid_argument) or
  // Error(not_found) when the schema lacks what is needed.
  V1Payloads(const Schema& schema, V1Content content, const std::string& field)
      : schema_(schema), content_(content) {
    if (content_ == V1Content::imagenet) {
      if (!fits_imagenet(schema_, field)) {
        throw error_of(ErrorCode::invalid_argument,
                       "the payload 'imagenet' needs {} and an integer field 'label', and this "
                       "data set does not have both; give {} to write the bytes of one field",
                       field.empty() ? "a field of pictures"
                                     : fmt::format("a field '{}' of pictures or bytes", field),
                       option_set("payload", "raw"));
      }
      data_ = field.empty() ? *first_of(schema_, {FieldType::image}) : schema_.require(field);
      label_ = *find_label_field(schema_);
    } else if (!field.empty()) {
      data_ = schema_.require(field);
    } else if (const auto found = first_of(schema_, {FieldType::image, FieldType::bytes})) {
      data_ = *found;
    } else {
      throw Error(ErrorCode::invalid_argument,
                  "has no field of pictures or bytes; name the field to write with " +
                      option_name("field"));
    }
  }

  // Whether V1Content::imagenet fits the schema.
  static bool fits_imagenet(const Schema& schema, const std::string& field) {
    if (!find_label_field(schema)) return false;
    if (field.empty()) return first_of(schema, {FieldType::image}).has_value();
    const int index = schema.index_of(field);
    return index >= 0 && holds_bytes(schema.fields[static_cast<size_t>(index)]);
  }

  // Fields that the v1 records lack.
  std::vector<std::string> left_out() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < schema_.fields.size(); ++i) {
      if (i == data_ || (content_ == V1Content::imagenet && i == label_)) continue;
      names.push_back(schema_.fields[i].name);
    }
    return names;
  }

  struct Payload {
    std::span<const std::byte> bytes;  // into the record, or into this object until the next make()
    int64_t label = 0;                 // imagenet only
  };
  // A picture in the dct code becomes the JPEG that it was made from. Throws
  // Error(invalid_argument) when a field is null, and as decode_dct_to_jpeg() does.
  Payload make(const RecordView& record) {
    const auto required = [&](size_t field) {
      const FieldView value = record.field(field);
      if (value.is_null()) {
        throw error_of(ErrorCode::invalid_argument,
                       "field '{}' is null, but FFRecord v1 cannot store null",
                       schema_.fields[field].name);
      }
      return value;
    };
    std::span<const std::byte> data = required(data_).raw();
    if (schema_.fields[data_].type == FieldType::image && is_dct_picture(data)) {
      transcoder_.decode_to_jpeg(data, jpeg_);
      data = jpeg_;
    }
    if (content_ != V1Content::imagenet) return {.bytes = data};
    const int64_t label = integer(required(label_), schema_.fields[label_].dtype);
    pickle_bytes_and_label(data, label, buffer_);
    return {.bytes = buffer_, .label = label};
  }

 private:
  const Schema schema_;
  const V1Content content_;
  size_t data_ = 0;   // positions in the schema
  size_t label_ = 0;  // imagenet only
  std::vector<std::byte> buffer_;
  std::vector<std::byte> jpeg_;
  DctTranscoder transcoder_;
};

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// Which records of `dataset` go into which part.
std::vector<Range> cut_into_parts(const Dataset& dataset, int64_t shard_bytes) {
  const int64_t num_records = dataset.num_records();
  std::vector<Range> parts;
  int64_t begin = 0;
  if (shard_bytes > 0) {
    int64_t num_bytes = 0;
    for (int64_t i = 0; i < num_records; ++i) {
      num_bytes += dataset.locate(i).record.raw_bytes;
      if (num_bytes < shard_bytes) continue;
      parts.push_back({begin, i + 1});
      begin = i + 1;
      num_bytes = 0;
    }
  } else if (!dataset.is_subset()) {
    for (int64_t shard = 0; shard < dataset.num_shards(); ++shard) {
      const int64_t end = begin + dataset.shard(shard).num_records();
      parts.push_back({begin, end});
      begin = end;
    }
  }
  if (begin < num_records || parts.empty()) parts.push_back({begin, num_records});
  return parts;
}

class V1SplitWriter {
 public:
  V1SplitWriter(const Dataset& dataset, V1Content content, const V1Options& options)
      : dataset_(dataset),
        options_(options),
        payloads_(dataset.schema(), content, options.field),
        keeps_labels_(content == V1Content::imagenet &&
                      dataset.manifest().split.starts_with("train")) {}

  // Writes the parts into the new folder `folder`, which has this name only when all of them are
  // there: a part says nothing of the others.
  SplitSummary write(const fs::path& folder) {
    fs::path unfinished = folder;
    unfinished += ".unfinished";
    fs::create_directory(unfinished);
    const std::vector<Range> parts = cut_into_parts(dataset_, options_.shard_bytes);
    for (size_t i = 0; i < parts.size(); ++i) {
      V1Writer writer(unfinished / fmt::format("PART_{:05}.ffr", i), parts[i].end - parts[i].begin);
      for (int64_t record = parts[i].begin; record < parts[i].end; ++record) append(record, writer);
      file_bytes_ += writer.finish();
      report(parts[i].end);
    }
    rename_file(unfinished, folder);
    return {.split = dataset_.manifest().split,
            .num_records = dataset_.num_records(),
            .num_shards = std::ssize(parts),
            .file_bytes = file_bytes_};
  }

  // What write() would write, told from the first records.
  SplitEstimate estimate(double& seconds) {
    const auto start = std::chrono::steady_clock::now();
    const int64_t num_records = dataset_.num_records();
    const int64_t num_tried = std::min(num_records, kTriedRecords);
    for (int64_t record = 0; record < num_tried; ++record) {
      throw_if_cancelled(options_.cancel);
      with_payload(record, [this](const V1Payloads::Payload& payload) {
        bytes_done_ += std::ssize(payload.bytes);
      });
    }
    const double scale = num_tried > 0 ? static_cast<double>(num_records) / num_tried : 0;
    seconds +=
        scale * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto num_parts =
        static_cast<int64_t>(cut_into_parts(dataset_, options_.shard_bytes).size());
    return {.split = dataset_.manifest().split,
            .num_samples = num_records,
            .num_shards = num_parts,
            .file_bytes = static_cast<int64_t>(scale * static_cast<double>(bytes_done_)) +
                          kV1HeaderBytes * (num_records + num_parts)};
  }

  // Of a training split with ImageNet's payload, after write().
  const std::vector<int64_t>& labels() const { return labels_; }

 private:
  void append(int64_t index, V1Writer& writer) {
    throw_if_cancelled(options_.cancel);
    with_payload(index, [&](const V1Payloads::Payload& payload) {
      require_readable(payload);
      writer.append(payload.bytes);
      if (keeps_labels_) labels_.push_back(payload.label);
      bytes_done_ += std::ssize(payload.bytes);
    });
    if (index % kRecordsBetweenReports == 0) report(index);
  }

  // A data set is for readers that were not told of longer records.
  void require_readable(const V1Payloads::Payload& payload) const {
    const auto num_bytes = std::ssize(payload.bytes);
    if (num_bytes <= options_.max_record_bytes) return;
    throw error_of(ErrorCode::unsupported,
                   "the FFRecord v1 record of this sample would have {} bytes, more than the limit "
                   "of {} bytes; "
                   "raise the limit with {}, here and in all programs that read the data set",
                   num_bytes, options_.max_record_bytes, option_name("max_record"));
  }

  template <typename Use>
  void with_payload(int64_t index, const Use& use) {
    const Dataset::Location where = dataset_.locate(index);
    const ShardReader& shard = dataset_.shard(where.shard_index);
    const RecordView record(dataset_.schema(), shard.read(where.local_index, buffer_, unpacker_));
    try {
      use(payloads_.make(record));
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      throw error.within({.path = shard.path().string(), .record = where.local_index});
    }
  }

  void report(int64_t num_done) const {
    if (!options_.progress || dataset_.num_records() == 0) return;
    options_.progress({.split = dataset_.manifest().split,
                       .num_samples = dataset_.num_records(),
                       .num_done = num_done,
                       .bytes_done = bytes_done_});
  }

  const Dataset& dataset_;
  const V1Options& options_;
  V1Payloads payloads_;
  const bool keeps_labels_;
  RecordUnpacker unpacker_;
  std::vector<std::byte> buffer_;
  std::vector<int64_t> labels_;
  int64_t bytes_done_ = 0;
  int64_t file_bytes_ = 0;
};

V1Content resolve(const std::vector<Dataset>& splits, const V1Options& options) {
  if (options.content != V1Content::automatic) return options.content;
  const bool fits = std::ranges::all_of(splits, [&](const Dataset& split) {
    return V1Payloads::fits_imagenet(split.schema(), options.field);
  });
  return fits ? V1Content::imagenet : V1Content::raw;
}

// Before anything is written: the splits have what is needed.
void check(const std::vector<Dataset>& splits, V1Content content, const V1Options& options) {
  if (splits.empty()) {
    throw Error(ErrorCode::invalid_argument, "there is no split to write as FFRecord v1");
  }
  std::vector<std::string> names;
  for (const Dataset& split : splits) {
    const std::string& name = split.manifest().split;
    if (std::ranges::find(names, name) != names.end()) {
      throw error_at(split.path(), ErrorCode::invalid_argument,
                     "two splits have the name '{}'; write these splits separately", name);
    }
    names.push_back(name);
    if (const std::string fault = fault_of_split_name(name); !fault.empty()) {
      throw error_at(split.path(), ErrorCode::invalid_argument,
                     "the split '{}' cannot have a folder, because its name {}; rename the split",
                     name, fault);
    }
    std::vector<std::string> left_out;
    try {
      left_out = V1Payloads(split.schema(), content, options.field).left_out();
    } catch (const Error& error) {
      throw error.within({.path = split.path().string()});
    }
    if (!left_out.empty() && options.note) {
      options.note(fmt::format("{}: FFRecord v1 has no fields, so these are left out: {}", name,
                               fmt::join(left_out, ", ")));
    }
  }
}

// The bytes that will be written, where that can be told from the manifests.
int64_t bytes_needed(const std::vector<Dataset>& splits, V1Content content) {
  int64_t sum = 0;
  for (const Dataset& split : splits) {
    const bool is_most_of_it = content == V1Content::imagenet || split.schema().fields.size() == 1;
    if (is_most_of_it && !split.is_subset()) sum += split.manifest().raw_bytes();
  }
  return sum;
}

void require_folder(const fs::path& destination) {
  if (!Place(destination).is_in_store()) return;
  throw error_at(destination, ErrorCode::unsupported,
                 "FFRecord v1 needs a folder of this machine: it writes the header of a part "
                 "after the records, but objects of a store cannot be changed; give a folder "
                 "and copy the result");
}

// Data sets that merge --move would take away: they are folders of splits.
void lock_sources(const std::vector<Dataset>& splits, const V1Options& options,
                  FolderLocks& locks) {
  for (const Dataset& split : splits) {
    if (!fs::is_directory(split.path())) continue;
    const fs::path folder = fs::canonical(split.path()).parent_path();
    // Who was given one split of a folder that cannot be listed cannot lock it either; nor does
    // merge take such a folder.
    if (::access(folder.c_str(), R_OK) == 0) {
      locks.add(folder, FolderLocks::Use::read, options.note);
    }
  }
}

}  // namespace

void describe(V1Options& options, ConvertOptions& conversion, OptionTable& table) {
  table.add_choice(
      "payload", options.content,
      "Content of a record of FFRecord v1. 'imagenet' means a pickle of an image and a label. "
      "'raw' means the bytes of one field. 'auto' means 'imagenet' if possible");
  table.add("field", options.field, "Field to write if ffconvert writes FFRecord v1")
      .set_default("the first field of type image or bytes");
  conversion.order = Order::sequential;
  describe(conversion, table);
  table.find("shard-size")
      ->set_default("256M, or one part for each shard if ffconvert writes FFRecord v1");
}

bool are_v1(const std::vector<Dataset>& splits, const fs::path& path) {
  const auto num_v1 = std::ranges::count_if(
      splits, [](const Dataset& split) { return split.format_version() == 1; });
  if (num_v1 == 0 || num_v1 == std::ssize(splits)) return num_v1 != 0;
  throw error_at(path, ErrorCode::invalid_argument,
                 "has splits of FFRecord v1 and of ffkit's own format; give one split");
}

void take_over(V1Options& options, const ConvertOptions& conversion, const OptionTable& table) {
  table.refuse({"num-threads", "order", "seed", "bad-samples", "zstd", "zstd-dictionary", "part",
                "merge-when-complete", "read", "resume", "only", "by-files", "license",
                "data-source", "note"},
               "is for reading FFRecord v1, but SRC is an ffkit data set");
  if (conversion.only_ids) {
    throw argument_error(
        "only", option_name("only") + " is for reading FFRecord v1, but SRC is an ffkit data set");
  }
  if (table.is_given("shard-size")) options.shard_bytes = conversion.shard_bytes;
  options.max_record_bytes = conversion.max_record_bytes;
  options.cancel = conversion.cancel;
  options.progress = conversion.progress;
  options.note = conversion.note;
  options.command = conversion.command;
}

ConvertSummary write_v1(const std::vector<Dataset>& splits, const fs::path& destination,
                        const V1Options& options) {
  const auto start = std::chrono::steady_clock::now();
  require_folder(destination);
  const V1Content content = resolve(splits, options);
  check(splits, content, options);
  std::vector<fs::path> roots;
  for (const Dataset& split : splits) {
    if (fs::is_directory(split.path())) roots.push_back(split.path());
  }
  refuse_destination_inside(roots, destination);

  ConvertSummary summary;
  try {
    FolderLocks locks;
    lock_sources(splits, options, locks);
    const auto claimed = Destination::claim(
        destination,
        {.kind = Destination::Kind::v1, .command = options.command, .note = options.note});
    claimed->note_start_over(options.note, destination);
    require_free_space(bytes_needed(splits, content), claimed->folder());
    std::vector<std::string> classes;
    std::vector<int64_t> targets;
    for (const Dataset& split : splits) {
      V1SplitWriter writer(split, content, options);
      summary.splits.push_back(writer.write(claimed->folder() / (split.manifest().split + ".ffr")));
      if (targets.empty()) targets = writer.labels();
      if (classes.empty()) classes = split.manifest().classes;
    }
    summary.num_classes = std::ssize(classes);
    if (content == V1Content::imagenet) {
      write_durably(claimed->v1_meta_path(),
                    [&](File& meta) { meta.write(pickle_class_list(classes, targets)); });
    }
    claimed->commit();
  } catch (...) {
    throw after_removal(current_error(destination));
  }
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

ConvertEstimate estimate_v1(const std::vector<Dataset>& splits, const V1Options& options) {
  const V1Content content = resolve(splits, options);
  check(splits, content, options);
  ConvertEstimate estimate;
  for (const Dataset& split : splits) {
    estimate.splits.push_back(V1SplitWriter(split, content, options).estimate(estimate.seconds));
  }
  return estimate;
}

}  // namespace ffkit
