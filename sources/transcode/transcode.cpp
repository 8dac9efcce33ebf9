#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>

#include <ffkit/base/option_names.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/sources/transcode.h>

#include "base/fnv.h"
#include "base/number_text.h"
#include "converter/input/input_file.h"
#include "converter/input/listed_source.h"
#include "converter/input/row_values.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "storage/reader/random_reader.h"

namespace ffkit {
namespace {

// DatasetRecords: what all sources that read data sets of ffkit have in common: a split is a data
// set, and a sample is one of its records.
class DatasetRecords : public ListedSource {
 public:
  // Throws Error(invalid_argument) without a data set.
  explicit DatasetRecords(std::vector<Dataset> datasets)
      : datasets_(std::move(datasets)), ids_(std::make_unique<Ids[]>(datasets_.size())) {
    if (datasets_.empty()) {
      throw Error(ErrorCode::invalid_argument, "a source needs at least one data set");
    }
    for (const Dataset& dataset : datasets_) {
      kept_.push_back(std::make_unique<Kept[]>(static_cast<size_t>(dataset.num_shards())));
    }
  }

  Schema schema() const override { return datasets_.front().schema(); }

  std::vector<fs::path> roots() const override {
    std::vector<fs::path> folders;
    for (const Dataset& dataset : datasets_) {
      const bool is_folder =
          Place(dataset.path()).is_in_store() || fs::is_directory(dataset.path());
      if (is_folder) folders.push_back(dataset.path());
    }
    return folders;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const Dataset& dataset = datasets_.at(split);
    return {.name = std::to_string(index),
            .num_bytes = dataset.locate(index).record.raw_bytes,
            .content = fnv1a64(std::as_bytes(std::span(dataset.fingerprint())))};
  }

  std::vector<SourceInput> inputs(size_t split) const override {
    const Dataset& dataset = datasets_.at(split);
    std::vector<SourceInput> inputs;
    const PlacesListed listed;
    for (int64_t i = 0; i < dataset.num_shards(); ++i) {
      const fs::path& path = dataset.shard(i).path();
      std::error_code none;
      const FileStamp stamp = stamp_of(path, none);
      inputs.push_back({.name = path.filename().string(),
                        .num_bytes = stamp.num_bytes,
                        .modified_ns = stamp.modified_ns});
    }
    return inputs;
  }

  std::string describe(size_t split, int64_t index) const override {
    const Dataset& dataset = datasets_.at(split);
    const Dataset::Location where = dataset.locate(index);
    return fmt::format("{}: record {}", dataset.shard(where.shard_index).path().string(),
                       where.local_index);
  }

  // Of a column, which is read once, with the first of them.
  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    const Dataset& dataset = datasets_.at(split);
    const int number = dataset.schema().index_of("id");
    if (number < 0) return std::nullopt;
    const Field& field = dataset.schema().fields[static_cast<size_t>(number)];
    if (field.type != FieldType::string || !field.column) return std::nullopt;
    Ids& ids = ids_[split];
    std::call_once(ids.is_read, [&] { ids.ids = dataset.string_column("id"); });
    return ids.ids.at(static_cast<size_t>(index));
  }

 protected:
  // What the shard of a record keeps of its files goes on to the record that is made of it.
  RecordView read_record(size_t split, int64_t index, SampleBuffers& buffers) const {
    const Dataset& dataset = datasets_.at(split);
    std::vector<std::byte>& bytes = buffers.array();
    dataset.read(index, bytes);
    const Dataset::Location where = dataset.locate(index);
    Kept& kept = kept_.at(split)[static_cast<size_t>(where.shard_index)];
    std::call_once(kept.is_read,
                   [&] { kept.contents = kept_contents(dataset.shard(where.shard_index)); });
    if (!kept.contents.empty()) {
      buffers.set_content(kept.contents.at(static_cast<size_t>(where.local_index)));
    }
    return {dataset.schema(), bytes, dataset.name(index)};
  }

  const std::vector<Dataset> datasets_;

 private:
  struct Ids {
    std::once_flag is_read;
    std::vector<std::string> ids;
  };
  const std::unique_ptr<Ids[]> ids_;  // of each data set
  struct Kept {
    std::once_flag is_read;
    std::vector<ContentSum> contents;
  };
  std::vector<std::unique_ptr<Kept[]>> kept_;  // of each shard of each data set
};

class DatasetSource : public DatasetRecords {
 public:
  explicit DatasetSource(std::vector<Dataset> datasets) : DatasetRecords(std::move(datasets)) {
    for (const Dataset& dataset : datasets_) add(dataset);
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    std::map<std::string, std::string> facts = datasets_.at(split).manifest().source;
    facts.erase("listing");  // of another conversion's samples
    facts["kind"] =
        fmt::format("data set, format version {}", datasets_.at(split).format_version());
    facts["path"] = absolute_name(datasets_.at(split).path());
    return facts;
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return datasets_.at(split).locate(index).record.raw_bytes;
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const RecordView view = read_record(split, index, buffers);
    for (size_t field = 0; field < datasets_.at(split).schema().fields.size(); ++field) {
      record.set_raw(field, view.field(field));
    }
  }

 private:
  void add(const Dataset& dataset) {
    const Manifest& manifest = dataset.manifest();
    const auto refuse = [&dataset](ErrorCode code, const std::string& message) {
      throw source_error(dataset.path(), code, message);
    };
    if (dataset.num_records() == 0)
      refuse(ErrorCode::not_found, "the data set contains no records");
    if (const std::string difference = dataset.schema().difference(datasets_.front().schema());
        !difference.empty()) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("has other fields than {}: {}; convert them separately",
                         datasets_.front().path().string(), difference));
    }
    if (std::ranges::find(infos_, manifest.split, &SourceSplit::name) != infos_.end()) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("two sources have a split called '{}'; convert these sources separately",
                         manifest.split));
    }
    if (classes_.empty()) {
      classes_ = manifest.classes;
      class_names_ = manifest.class_names;
      class_ids_ = manifest.class_ids;
    } else if (!manifest.classes.empty() && manifest.classes != classes_) {
      refuse(ErrorCode::invalid_argument,
             "has other classes than the splits before it; convert them separately");
    }
    infos_.push_back({.name = manifest.split,
                      .num_samples = dataset.num_records(),
                      .num_bytes = dataset.is_subset() ? 0 : manifest.raw_bytes(),
                      .is_training = manifest.split.starts_with("train")});
    notes_.insert(notes_.end(), dataset.warnings().begin(), dataset.warnings().end());
  }
};

// Whether it is a folder of splits, and no split or shard itself. A web server has no lists, so a
// split of it must be named.
bool holds_splits(const fs::path& path) {
  if (!Place(path).is_in_store())
    return fs::is_directory(path) && !fs::exists(path / "manifest.json");
  const NamesIn names = names_in_folder(path);
  return !names.folders.empty() &&
         std::ranges::find(names.files, "manifest.json") == names.files.end();
}

// Manifest::options and Manifest::source, as conversions write them.
constexpr const char* kStore = "store";
constexpr const char* kShardBytes = "shard_bytes";
constexpr const char* kPart = "part";
constexpr const char* kReferences = "record_references";
constexpr const char* kListing = "listing";
constexpr std::string_view kAndDct = ", dct";  // behind raw or smart

// "store" as a conversion with --store has it: nothing for jpeg. Back and forth gives what there
// was.
void note_store(std::map<std::string, std::string>& options, StoreAs store) {
  std::string text = options[kStore];
  if (text == to_string(StoreAs::dct)) text.clear();
  if (text.ends_with(kAndDct)) text.resize(text.size() - kAndDct.size());
  if (store == StoreAs::dct) {
    text = text.empty() ? std::string(to_string(StoreAs::dct)) : text + std::string(kAndDct);
  }
  options[kStore] = text;
  if (text.empty()) options.erase(kStore);
}

class TranscodedSource : public DatasetRecords {
 public:
  TranscodedSource(std::vector<Dataset> splits, const TranscodeOptions& options)
      : DatasetRecords(std::move(splits)), store_(as_they_are(options.store).store) {
    bool has_pictures = false;
    for (const Dataset& dataset : datasets_) {
      add(dataset, options.keeps_shards);
      has_pictures =
          has_pictures || std::ranges::any_of(dataset.schema().fields, is_picture_column);
    }
    classes_ = manifests_.front().classes;
    class_names_ = manifests_.front().class_names;
    class_ids_ = manifests_.front().class_ids;
    if (!has_pictures) {
      throw error_at(datasets_.front().path(), ErrorCode::invalid_argument,
                     "the data set has no field of pictures, so there is nothing to transcode");
    }
  }

  Schema split_schema(size_t split) const override { return datasets_.at(split).schema(); }
  const Manifest* manifest(size_t split) const override { return &manifests_.at(split); }

  bool has_record_references() const override {
    return std::ranges::any_of(manifests_, [](const Manifest& manifest) {
      return manifest.options.contains(kReferences);
    });
  }

  // The picture, what it becomes, and the JPEG that is made again from the dct code.
  int64_t sample_bytes(size_t split, int64_t index) const override {
    return 4 * datasets_.at(split).locate(index).record.raw_bytes;
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const Schema& schema = datasets_.at(split).schema();
    const RecordView view = read_record(split, index, buffers);
    const auto num_fields = std::ranges::count_if(schema.fields, is_picture_column);
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      if (!is_picture_column(field) || view.is_null(i)) {
        record.set_raw(i, view.field(i));
      } else if (field.type == FieldType::image) {
        record.set_bytes(i, picture(view.bytes(i), num_fields > 1 ? field.name : "",
                                    describe(split, index), buffers));
      } else {
        const ListView list = view.list(i);
        std::vector<std::span<const std::byte>> items;
        for (size_t k = 0; k < list.size(); ++k) {
          items.push_back(picture(list.bytes(k), fmt::format("{}/{}", field.name, k),
                                  describe(split, index), buffers));
        }
        record.set_list(i, items);
      }
    }
  }

 private:
  // `name`: which of the record's pictures it is.
  std::span<const std::byte> picture(std::span<const std::byte> image, const std::string& name,
                                     const std::string& origin, SampleBuffers& buffers) const {
    if (is_dct_picture(image) == (store_ == StoreAs::dct)) return image;
    DctTranscoder& transcoder = transcoders_.local();
    std::vector<std::byte>& out = buffers.array();
    if (store_ == StoreAs::jpeg) {
      try {
        transcoder.decode_to_jpeg(image, out);
      } catch (const Error& error) {
        if (is_out_of_memory(error)) throw;
        if (buffers.bad_samples() != BadSamples::keep) throw error.within({.path = origin});
        buffers.report({error.what(), kKeptAsItIs, name});
        return image;
      }
      return out;
    }
    const std::optional<DctRefusal> refusal = transcoder.encode(image, out);
    if (!refusal) {
      buffers.made_from(out, image);
      return out;
    }
    buffers.report({fmt::format("is {}", to_string(*refusal)), kKeptWithoutDct, name});
    return image;
  }

  void add(const Dataset& dataset, bool keeps_shards) {
    const auto refuse = [&dataset](ErrorCode code, const std::string& message) {
      throw error_at(dataset.path(), code, message);
    };
    if (dataset.format_version() == 1) {
      refuse(ErrorCode::invalid_argument,
             "the data set is a file of FFRecord v1; convert the file with 'ffconvert v1' first");
    }
    Manifest manifest = dataset.manifest();
    if (dataset.num_records() == 0)
      refuse(ErrorCode::not_found, "the data set contains no records");
    if (manifest.options.contains(kPart)) {
      refuse(
          ErrorCode::invalid_argument,
          "the data set is one part of a conversion; join all parts with 'ffconvert merge' first");
    }
    manifest.source.erase(kListing);  // of another conversion's samples
    note_store(manifest.options, store_);
    if (!keeps_shards) {
      manifest.shards.clear();
      manifest.options.erase(kShardBytes);
    }
    infos_.push_back({.name = manifest.split,
                      .num_samples = dataset.num_records(),
                      .num_bytes = manifest.raw_bytes()});
    notes_.insert(notes_.end(), dataset.warnings().begin(), dataset.warnings().end());
    manifests_.push_back(std::move(manifest));
  }

  const StoreAs store_;
  std::vector<Manifest> manifests_;
  mutable tbb::enumerable_thread_specific<DctTranscoder> transcoders_;
};

// A number of the manifest's options, as conversions write it; 0 when it is not there.
int64_t number_of(const Manifest& manifest, const std::string& option) {
  const auto found = manifest.options.find(option);
  int64_t number = 0;
  if (found == manifest.options.end()) return number;
  std::string_view text = found->second;
  take_number(text, number);
  return number;
}

}  // namespace

std::vector<Dataset> open_splits(const fs::path& path, const ShardReaderOptions& options) {
  std::vector<Dataset> datasets;
  if (holds_splits(path)) {
    for (const std::string& split : list_splits(path)) {
      datasets.push_back(Dataset::open(path, split, options));
    }
  }
  if (datasets.empty()) datasets.push_back(Dataset::open(path, "", options));
  return datasets;
}

std::unique_ptr<Source> open_datasets(std::vector<Dataset> splits) {
  return std::make_unique<DatasetSource>(std::move(splits));
}

std::unique_ptr<Source> open_transcoded(std::vector<Dataset> splits,
                                        const TranscodeOptions& options) {
  return std::make_unique<TranscodedSource>(std::move(splits), options);
}

void take_over_compression(const std::vector<Dataset>& splits, ConvertOptions& options) {
  options.zstd_level = 0;
  options.zstd_dictionary_bytes = 0;
  for (const Dataset& split : splits) {
    if (options.zstd_level == 0) {
      options.zstd_level = static_cast<int>(number_of(split.manifest(), "zstd_level"));
    }
    options.zstd_dictionary_bytes = std::max(options.zstd_dictionary_bytes,
                                             number_of(split.manifest(), "zstd_dictionary_bytes"));
  }
}

TranscodeConversion::TranscodeConversion() {
  describe(images_, PictureUse::store, false, table_);
  describe(options_, table_);
  table_.find("store")->set_default("none");
  table_.find("shard-size")->set_default("the shards of SRC");
  table_.find("zstd")->set_default("as SRC");
  // Not offered; still known, to say why they are refused.
  for (const char* name : {"order", "seed", "read", "by-files"})
    table_.find(name)->is_offered = false;
}

void TranscodeConversion::check() {
  table_.refuse({"order", "seed", "read"},
                "has no effect, because the records keep the order of SRC; leave it out");
  table_.refuse(
      {"by-files"},
      "has no effect, because the list of the records of a data set is short; leave it out");
  if (!table_.is_given("store")) {
    throw argument_error(
        "store", "choose the new form of pictures with " + option_name("store") + ": jpeg or dct");
  }
  options_.order = Order::sequential;
  validate(options_, table_);
}

std::unique_ptr<Source> TranscodeConversion::open(const fs::path& path) {
  std::vector<Dataset> splits = open_splits(path, {.max_record_bytes = options_.max_record_bytes});
  if (!table_.is_given("zstd")) take_over_compression(splits, options_);
  return open_transcoded(std::move(splits),
                         {.store = images_.store, .keeps_shards = !table_.is_given("shard-size")});
}

}  // namespace ffkit
