#include "data/data_sets.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <span>
#include <tuple>

#include <ffkit/base/error.h>
#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/packed_folder.h>
#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/shard_reader.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "format/dataset/dataset_files.h"
#include "format/schema/label_field.h"
#include "text/output.h"

namespace ffkit {
namespace {

std::string element(const std::vector<std::string>& list, int64_t index) {
  if (index < 0 || index >= std::ssize(list)) return "";
  return list[index];
}

std::vector<Dataset> open_whole_splits(const Target& target) {
  const std::filesystem::path path = target.path;
  if (!target.split.empty()) return {Dataset::open(path, target.split, target.reader)};
  if (may_be_folder(path) && !is_split_folder(path)) {
    std::vector<Dataset> all;
    for (const std::string& name : list_splits(path)) {
      all.push_back(Dataset::open(path, name, target.reader));
    }
    if (!all.empty()) return all;
  }
  return {Dataset::open(path, "", target.reader)};  // says what is wrong when it is not a data set
}

}  // namespace

bool may_be_folder(const std::filesystem::path& path) {
  return !is_local(path) || std::filesystem::is_directory(path);
}

std::vector<Dataset> open_splits(const Target& target) {
  std::vector<Dataset> splits = open_whole_splits(target);
  if (!target.indices.empty()) {
    if (splits.size() > 1) {
      throw error_at(target.path, ErrorCode::invalid_argument,
                     "an index file belongs to one split; choose the split with --split");
    }
    splits.front() = splits.front().subset(read_index_file(target.indices));
  }
  if (!target.where.empty()) {
    const Filter filter = parse_filter(target.where);
    for (Dataset& dataset : splits) dataset = dataset.where(filter);
  }
  return splits;
}

Dataset open_one_split(const Target& target) {
  std::vector<Dataset> all = open_splits(target);
  if (all.size() > 1) {
    throw error_at(target.path, ErrorCode::invalid_argument,
                   "the data set has several splits; choose one with --split");
  }
  return all.front();
}

bool is_packed(const Target& target) {
  if (!PackedFolder::is_packed_folder(target.path)) return false;
  if (!target.split.empty() || !target.where.empty() || !target.indices.empty()) {
    throw error_at(target.path, ErrorCode::invalid_argument,
                   "is a packed folder, which does not support --split, --where and --indices");
  }
  return true;
}

std::vector<std::filesystem::path> input_files(const Dataset& dataset, const Target& target) {
  std::vector<std::filesystem::path> files = {dataset.path() / "manifest.json",
                                              dataset.path() / "meta.pkl"};
  if (!target.indices.empty()) files.emplace_back(target.indices);
  for (int64_t i = 0; i < dataset.num_shards(); ++i) files.push_back(dataset.shard(i).path());
  return files;
}

std::string class_of(const Manifest& manifest, int64_t label) {
  return element(manifest.classes, label);
}

std::string class_name_of(const Manifest& manifest, int64_t label) {
  return element(manifest.class_names, label);
}

std::optional<int64_t> label_of(const Schema& schema, const RecordView& record) {
  const auto field = find_label_field(schema);
  if (!field || record.is_null(*field)) return std::nullopt;
  return visit_dtype(schema.fields[*field].dtype, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) return static_cast<int64_t>(record.scalar<T>(*field));
    return 0;  // not reached: the field is an integer
  });
}

namespace {

constexpr int64_t kRecordsAtOnce = 32;

bool is_equal(const RgbView& a, const RgbView& b) {
  if (a.width != b.width || a.height != b.height) return false;
  const auto row_bytes = 3 * static_cast<size_t>(a.width);
  for (int y = 0; y < a.height; ++y) {
    if (std::memcmp(a.data + y * a.stride, b.data + y * b.stride, row_bytes) != 0) return false;
  }
  return true;
}

// The check of a record's pictures, beyond the checksums: that each one decodes, and that each one
// in the dct code gives its JPEG again. Not thread-safe: one per thread.
class PictureCheck {
 public:
  // What is wrong with pictures of a record that is whole, one sentence a picture that names its
  // field; empty when nothing is. Throws what ShardReader::read() throws.
  std::vector<std::string> check(const ShardReader& shard, int64_t index) {
    std::vector<std::string> problems;
    const Schema& schema = shard.schema();
    const RecordView record(schema, shard.read(index, buffer_, unpacker_));
    const auto check_one = [&](const std::string& name, std::span<const std::byte> image) {
      try {
        check_picture(image);
      } catch (const Error& error) {
        problems.push_back(fmt::format("{}: {}", name, error.text(OptionStyle::command_line)));
      }
    };
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      if (record.is_null(i)) continue;
      if (field.type == FieldType::image) {
        check_one(fmt::format("field '{}'", field.name), record.bytes(i));
      } else if (field.type == FieldType::list && field.item == FieldType::image) {
        const ListView images = record.list(i);
        for (size_t k = 0; k < images.size(); ++k) {
          check_one(fmt::format("item {} of field '{}'", k, field.name), images.bytes(k));
        }
      }
    }
    return problems;
  }

  int64_t num_pictures() const { return num_pictures_; }
  int64_t num_dct_pictures() const { return num_dct_pictures_; }

 private:
  void check_picture(std::span<const std::byte> image) {
    ++num_pictures_;
    const RgbView pixels = decoder_.decode(image);
    if (!is_dct_picture(image)) return;
    ++num_dct_pictures_;
    transcoder_.decode_to_jpeg(image, jpeg_);
    if (!is_equal(pixels, jpeg_decoder_.decode(jpeg_))) {
      throw Error(ErrorCode::corrupt, "the JPEG file made from its dct code has other pixels");
    }
  }

  RecordUnpacker unpacker_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> jpeg_;
  ImageDecoder decoder_;
  ImageDecoder jpeg_decoder_;
  DctTranscoder transcoder_;
  int64_t num_pictures_ = 0;
  int64_t num_dct_pictures_ = 0;
};

ShardProblem problem_of(const Error& error, const std::filesystem::path& file) {
  const bool names_file = !error.context().path.empty();
  return {.offset = error.context().offset,
          .message = names_file
                         ? error.text(OptionStyle::command_line)
                         : error.within({.path = file.string()}).text(OptionStyle::command_line)};
}

// A file among those of its split.
struct PlaceInSplit {
  size_t number = 0;
  std::optional<int64_t>
      // in the split; unknown behind a file that cannot be opened and is listed nowhere
      first_record;
};

// Collects damage from all threads.
class DamageList {
 public:
  void add(const std::filesystem::path& file, const ShardProblem& problem,
           const PlaceInSplit& place) {
    const bool has_index = problem.record >= 0 && place.first_record.has_value();
    const std::scoped_lock lock(mutex_);
    list_.push_back({place.number,
                     {.file = file.string(),
                      .record = problem.record,
                      .record_index = has_index ? *place.first_record + problem.record : -1,
                      .offset = problem.offset,
                      .message = problem.message}});
  }
  // In the order of files, records (the file itself first) and offsets.
  std::vector<Damage> sorted() {
    std::ranges::stable_sort(list_, {}, [](const Entry& entry) {
      return std::tuple(entry.number, entry.damage.record, entry.damage.offset);
    });
    std::vector<Damage> result;
    for (Entry& entry : list_) result.push_back(std::move(entry.damage));
    return result;
  }

 private:
  struct Entry {
    size_t number = 0;
    Damage damage;
  };
  std::mutex mutex_;
  std::vector<Entry> list_;
};

// What a check is done with and what it finds, of all threads.
struct Check {
  Check(const CheckOptions& asked, DamageList& found, const SplitCheck& split)
      : options(asked), damage(found), progress(split.split, split.file_bytes) {}

  void fill(SplitCheck& result) {
    result.damage = damage.sorted();
    for (const PictureCheck& pictures : thread_pictures) {
      result.num_pictures += pictures.num_pictures();
      result.num_dct_pictures += pictures.num_dct_pictures();
    }
  }

  const CheckOptions& options;
  DamageList& damage;
  ProgressLine progress;
  tbb::enumerable_thread_specific<PictureCheck> thread_pictures;
};

void check_pictures(const ShardReader& shard, int64_t record, const PlaceInSplit& place,
                    Check& check) {
  for (const std::string& text : check.thread_pictures.local().check(shard, record)) {
    const Error error(ErrorCode::corrupt, text, {.path = shard.path().string(), .record = record});
    check.damage.add(shard.path(), {.record = record, .offset = -1, .message = error.what()},
                     place);
  }
}

// Index, columns and records of an open shard.
void check_content(const ShardReader& shard, const PlaceInSplit& place, Check& check) {
  for (const ShardProblem& problem : shard.verify_index()) {
    check.damage.add(shard.path(), problem, place);
  }
  if (shard.num_records() == 0) return;
  // The file's bytes are shown evenly over its records: asking the index for each would cost more
  // than it shows.
  const int64_t bytes_shown = shard.facts().file_bytes / shard.num_records();
  const tbb::blocked_range<int64_t> all(0, shard.num_records(), kRecordsAtOnce);
  tbb::parallel_for(all, [&](const tbb::blocked_range<int64_t>& range) {
    for (int64_t i = range.begin(); i < range.end(); ++i) {
      if (const auto problem = shard.verify_record(i, OptionStyle::command_line); problem) {
        check.damage.add(shard.path(), *problem, place);
      } else if (check.options.pictures) {
        check_pictures(shard, i, place, check);
      }
      check.progress.add(bytes_shown);
    }
  });
}

void check_shard(const std::filesystem::path& file, const ManifestShard& listed,
                 const Schema& schema, const PlaceInSplit& place, Check& check) {
  std::optional<ShardReader> shard;
  try {
    shard.emplace(file, check.options.reader);
  } catch (const Error& error) {
    check.damage.add(file, problem_of(error, file), place);
    check.progress.add(listed.file_bytes);
    return;
  }
  if (const std::string text = shard_difference(shard->facts(), shard->schema(), listed, schema);
      !text.empty()) {
    const Error error(ErrorCode::corrupt, text,
                      {.path = file.string(), .remedy = "copy or convert it again"});
    check.damage.add(file, {.message = error.what()}, place);
  }
  check_content(*shard, place, check);
}

}  // namespace

SplitCheck check_split_folder(const std::filesystem::path& folder, const CheckOptions& options) {
  SplitCheck check{.path = folder.string(), .split = folder.filename().string()};
  const std::filesystem::path manifest_file = folder / "manifest.json";
  Manifest manifest;
  try {
    manifest = read_manifest(manifest_file);
  } catch (const Error& error) {
    check.damage.push_back(
        {.file = manifest_file.string(), .message = error.text(OptionStyle::command_line)});
    return check;
  }
  check.split = manifest.split;
  check.num_records = manifest.num_records();
  check.num_shards = std::ssize(manifest.shards);
  check.file_bytes = manifest.file_bytes();
  std::vector<int64_t> first_record = {0};
  for (const ManifestShard& shard : manifest.shards) {
    first_record.push_back(first_record.back() + shard.num_records);
  }
  DamageList damage;
  Check running(options, damage, check);
  tbb::parallel_for(size_t{0}, manifest.shards.size(), [&](size_t i) {
    check_shard(folder / manifest.shards[i].file, manifest.shards[i], manifest.schema,
                {i, first_record[i]}, running);
  });
  running.fill(check);
  return check;
}

SplitCheck check_files(const std::string& path, const std::string& split,
                       const std::vector<std::filesystem::path>& files,
                       const CheckOptions& options) {
  SplitCheck check{.path = path, .split = split, .num_shards = std::ssize(files)};
  DamageList damage;
  std::vector<std::optional<ShardReader>> shards(files.size());
  std::vector<PlaceInSplit> places;
  std::optional<int64_t> first_record = 0;
  bool needs_manifest = false;
  for (size_t i = 0; i < files.size(); ++i) {
    places.push_back({i, first_record});
    try {
      const ShardFacts facts = shards[i].emplace(files[i], options.reader).facts();
      check.num_records += facts.num_records;
      check.file_bytes += facts.file_bytes;
      needs_manifest =
          needs_manifest || (facts.version >= 2 && std::filesystem::is_directory(path));
      if (!facts.warning.empty()) check.warnings.push_back(facts.warning);
      if (first_record) *first_record += facts.num_records;
    } catch (const Error& error) {
      damage.add(files[i], problem_of(error, files[i]), places[i]);
      first_record.reset();
    }
  }
  if (needs_manifest) {
    const Error error(ErrorCode::corrupt,
                      "has shards but no manifest.json; copy or convert the data set again",
                      {.path = path});
    damage.add(path, problem_of(error, path), {});
  }
  Check running(options, damage, check);
  tbb::parallel_for(size_t{0}, files.size(), [&](size_t i) {
    if (shards[i]) check_content(*shards[i], places[i], running);
  });
  running.fill(check);
  return check;
}

}  // namespace ffkit
