#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/sources/transcode.h>

#include "base/make_error.h"
#include "transcode/dataset_records.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Manifest::options and Manifest::source, as conversions write them.
constexpr const char* kStore = "store";
constexpr const char* kShardBytes = "shard_bytes";
constexpr const char* kPart = "part";
constexpr const char* kReferences = "record_references";
constexpr const char* kListing = "listing";
constexpr std::string_view kAndDct = ", dct";  // behind raw or smart

bool holds_pictures(const Field& field) {
  return field.type == FieldType::image ||
         (field.type == FieldType::list && field.item == FieldType::image);
}

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
      has_pictures = has_pictures || std::ranges::any_of(dataset.schema().fields, holds_pictures);
    }
    classes_ = manifests_.front().classes;
    class_names_ = manifests_.front().class_names;
    class_ids_ = manifests_.front().class_ids;
    if (!has_pictures) {
      throw error_at(datasets_.front().path(), ErrorCode::invalid_argument,
                     "has no field of pictures, so there is nothing to transcode");
    }
  }

  Schema split_schema(size_t split) const override { return datasets_.at(split).schema(); }
  const Manifest* manifest(size_t split) const override { return &manifests_.at(split); }

  bool has_record_references() const override {
    return std::ranges::any_of(manifests_, [](const Manifest& manifest) {
      return manifest.options.contains(kReferences);
    });
  }

  std::vector<fs::path> roots() const override {
    std::vector<fs::path> folders;
    for (const Dataset& dataset : datasets_) folders.push_back(dataset.path());
    return folders;
  }

  // The picture, what it becomes, and the JPEG that is made again from the dct code.
  int64_t sample_bytes(size_t split, int64_t index) const override {
    return 4 * datasets_.at(split).locate(index).record.raw_bytes;
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const Dataset& dataset = datasets_.at(split);
    const Schema& schema = dataset.schema();
    std::vector<std::byte>& bytes = buffers.array();
    dataset.read(index, bytes);
    const RecordView view(schema, bytes, dataset.name(index));
    const auto num_fields = std::ranges::count_if(schema.fields, holds_pictures);
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      if (!holds_pictures(field) || view.is_null(i)) {
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
        if (buffers.on_error() != OnError::keep) throw error.within({.path = origin});
        buffers.report({error.what(), kKeptAsItIs, name});
        return image;
      }
      return out;
    }
    const std::optional<DctRefusal> refusal = transcoder.encode(image, out);
    if (!refusal) return out;
    buffers.report({fmt::format("is {}", to_string(*refusal)), kKeptWithoutDct, name});
    return image;
  }

  void add(const Dataset& dataset, bool keeps_shards) {
    const auto refuse = [&dataset](ErrorCode code, const std::string& message) {
      throw error_at(dataset.path(), code, message);
    };
    if (dataset.format_version() == 1) {
      refuse(ErrorCode::invalid_argument,
             "is FFRecord v1; make a data set of it with 'ffconvert v1' first");
    }
    Manifest manifest = dataset.manifest();
    if (dataset.num_records() == 0) refuse(ErrorCode::not_found, "there are no records in it");
    if (manifest.options.contains(kPart)) {
      refuse(ErrorCode::invalid_argument,
             "is a part of a conversion; join all parts with 'ffconvert merge' first");
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
  if (found != manifest.options.end()) {
    const std::string& text = found->second;
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

}  // namespace

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
  table_.find("store")->set_default("none: say which");
  table_.find("shard-size")->set_default("the shards of SRC");
  table_.find("zstd")->set_default("as SRC");
  // Not offered; still known, to say why they are refused.
  for (const char* name : {"order", "seed", "read", "by-files"})
    table_.find(name)->is_offered = false;
}

void TranscodeConversion::check() {
  table_.refuse({"order", "seed", "read"},
                "has no effect: the records keep the order of SRC; leave it out");
  table_.refuse({"by-files"},
                "has no effect: the list of a data set's records is short; leave it out");
  if (!table_.is_given("store")) {
    throw argument_error("store",
                         "say what pictures become, by " + option_name("store") + ": jpeg or dct");
  }
  options_.order = RecordOrder::source;
  validate(options_, table_);
}

std::unique_ptr<Source> TranscodeConversion::open(const std::filesystem::path& path) {
  std::vector<Dataset> splits = open_splits(path, {.max_record_bytes = options_.max_record_bytes});
  if (!table_.is_given("zstd")) take_over_compression(splits, options_);
  return open_transcoded(std::move(splits),
                         {.store = images_.store, .keeps_shards = !table_.is_given("shard-size")});
}

}  // namespace ffkit
