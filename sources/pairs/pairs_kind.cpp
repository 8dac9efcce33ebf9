#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/pairs.h>

#include "base/fnv.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "converter/input/listed_source.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "pairs/pairs_listing.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

class Pairs : public ListedSource {
 public:
  explicit Pairs(const PairsOptions& options) : storer_(as_they_are(options.store)) {
    PairsLayout layout = find_pairs_layout(options);
    splits_ = list_pairs(layout, options, notes_);
    folders_ = std::move(layout.folders);
    for (const PairsFolder& folder : folders_) {
      schema_.fields.push_back({folder.field, FieldType::image});
      numbers_.push_back(std::ranges::find(options.panoptic, folder.field) == options.panoptic.end()
                             ? MaskNumbers::values
                             : MaskNumbers::panoptic);
    }
    schema_.fields.push_back({"id", FieldType::string, DType::u8, true});
    for (const PairSplit& split : splits_) {
      infos_.push_back({.name = split.name,
                        .num_samples = std::ssize(split.samples),
                        .num_bytes = 0,
                        .is_training = split.name.starts_with("train")});
      for (const PairSample& sample : split.samples) infos_.back().num_bytes += bytes_of(sample);
      inputs_.emplace_back();
      if (split.list.empty()) continue;
      const InputFile list(split.list);
      inputs_.back().push_back({.name = split.list.filename().string(),
                                .num_bytes = list.size(),
                                .crc32c = crc32c_of(list)});
    }
  }

  std::map<std::string, std::string> facts(size_t split) const override {
    std::map<std::string, std::string> facts = {{"kind", "pairs"},
                                                {"path", absolute_name(folders_.front().path)}};
    for (const PairsFolder& folder : std::span(folders_).subspan(1)) {
      facts["folder_" + folder.field] = absolute_name(folder.path);
    }
    const fs::path& list = splits_.at(split).list;
    if (!list.empty()) facts["list"] = absolute_name(list);
    return facts;
  }

  std::map<std::string, std::string> options() const override {
    return manifest_options(storer_.storage());
  }

  bool checks_headers_only() const override { return storer_.checks_headers_only(); }

  std::vector<fs::path> roots() const override {
    std::vector<fs::path> roots;
    for (const PairsFolder& folder : folders_) roots.push_back(folder.path);
    return roots;
  }

  std::vector<SourceInput> inputs(size_t split) const override { return inputs_.at(split); }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    const PairSample& pair = sample(split, index);
    const int64_t picture = pair.files.front().stamp.num_bytes;
    return storer_.memory_bytes(picture) + bytes_of(pair) - picture;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    const PairSample& pair = sample(split, index);
    SampleIdentity identity{.name = name_of(pair)};
    for (const PairFile& file : pair.files) {
      const FileStamp& stamp = file.stamp;
      identity.num_bytes += stamp.num_bytes;
      identity.content = fnv1a64(std::as_bytes(std::span(file.path)), identity.content);
      identity.content = fnv1a64(std::as_bytes(std::span(&stamp.num_bytes, 1)), identity.content);
      identity.modified =
          fnv1a64(std::as_bytes(std::span(&stamp.modified_ns, 1)), identity.modified);
    }
    return identity;
  }

  std::optional<std::string> listed_id(size_t split, int64_t index) const override {
    return name_of(sample(split, index));
  }

  void will_read(size_t split, int64_t index) const override {
    const PairSample& pair = sample(split, index);
    for (size_t i = 0; i < folders_.size(); ++i) {
      announce_range(folders_[i].path / pair.files[i].path, 0, pair.files[i].stamp.num_bytes);
    }
  }

  std::string describe(size_t split, int64_t index) const override {
    return (folders_.front().path / sample(split, index).files.front().path).string();
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    const PairSample& pair = sample(split, index);
    const std::string name = name_of(pair);
    const std::string origin = describe(split, index);
    require_utf8_name(name, origin);
    const auto picture = read_listed_file(origin, pair.files.front().stamp, buffers);
    const ImageStorer::Stored stored =
        of_sample(origin, [&] { return storer_.store(picture, name, buffers); });
    record.set_bytes(0, stored.bytes);
    for (size_t i = 1; i < folders_.size(); ++i) {
      const PairFile& mask = pair.files[i];
      record.set_bytes(i, read_mask_file(folders_[i].path / mask.path, mask.stamp, numbers_[i],
                                         stored.size, origin, folders_[i].field, buffers));
    }
    record.set_string(folders_.size(), buffers.text(name));
  }

 private:
  static int64_t bytes_of(const PairSample& sample) {
    int64_t num_bytes = 0;
    for (const PairFile& file : sample.files) num_bytes += file.stamp.num_bytes;
    return num_bytes;
  }

  static std::string name_of(const PairSample& sample) {
    return sample.files.front().path.substr(sample.id_begin);
  }

  const PairSample& sample(size_t split, int64_t index) const {
    return splits_.at(split).samples.at(static_cast<size_t>(index));
  }

  const ImageStorer storer_;
  std::vector<PairsFolder> folders_;
  std::vector<MaskNumbers> numbers_;  // of each folder's files; of the first one's: no matter
  std::vector<PairSplit> splits_;
  std::vector<std::vector<SourceInput>> inputs_;  // of each split
};

}  // namespace

std::unique_ptr<Source> open_pairs(const PairsOptions& options) {
  const PlacesListed listed;
  return std::make_unique<Pairs>(options);
}

namespace {

class PairsKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table
        .add_named("folders", folders_,
                   "The folder of each field, such as image=/data/pictures mask=/data/masks; the "
                   "first has the pictures, the others have masks whose names are equal but for "
                   "their endings")
        .set_type_name("NAME=FOLDER")
        .set_argument();
    table
        .add("layout", options_.layout,
             "Takes the folders, suffixes and lists of a published data set: of ade20k "
             "ADEChallengeData2016, of voc VOC2012; those that are given come before them. "
             "Needs " +
                 option_name("root"))
        .set_choices(pair_layouts());
    table.add("root", options_.root,
              "Folder of the data set, which " + option_name("folders") + " and " +
                  option_name("list") + " are below");
    table
        .add_named("suffix", suffixes_,
                   "What stands behind the shared name of a field's files, before the ending, such "
                   "as mask=_gtFine_labelIds, perhaps with the ending, such as mask=_mask.png; "
                   "other files are left out, with a note")
        .set_type_name("NAME=SUFFIX");
    table.add_paths(
        "list",
        [this] {
          std::vector<std::string> lists;
          for (const std::filesystem::path& list : options_.lists) lists.push_back(list.string());
          return lists;
        },
        [this](const std::vector<std::string>& lists) {
          options_.lists.assign(lists.begin(), lists.end());
        },
        "File with the names to take, one a line, in its order; its split is called after it. May "
        "be given several times");
    table
        .add_names(
            "splits", options_.splits,
            "Splits to convert, by their folders or lists. Where there are neither, the name "
            "of the one split")
        .set_default("all that are there");
    table
        .add_words(
            "unpaired", [this] { return options_.skip_unpaired ? "skip" : "fail"; },
            [this](const std::string& word) { options_.skip_unpaired = word == "skip"; },
            "A name without a file in one of the folders. fail: is an error; skip: is left out, "
            "and counted in a note")
        .set_choices({"fail", "skip"});
    table.add_names("panoptic", options_.panoptic,
                    "Fields whose masks have colours that are numbers: red + 256 green + 65536 "
                    "blue");
  }

  void check(const OptionTable& /*table*/) const override { validate(all_options()); }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    PairsOptions options = all_options();
    options.store = arguments.images.store;
    return open_pairs(options);
  }

 private:
  PairsOptions all_options() const {
    PairsOptions options = options_;
    for (const auto& [field, folder] : folders_) options.folders.push_back({field, folder});
    options.suffixes = {suffixes_.begin(), suffixes_.end()};
    return options;
  }

  PairsOptions options_;
  NamedValues folders_;
  NamedValues suffixes_;
};

}  // namespace

SourceKind pairs_kind() {
  return {.name = "pairs",
          .description = "Pictures and their masks, in folders of their own, paired by name",
          .example =
              "/fast/pairs image=/data/pictures mask=/data/masks\n"
              "  ffconvert pairs /fast/voc --layout voc --root /data/VOC2012",
          .options = make_source_options<PairsKind>,
          .needs_path = false,
          .pictures = PictureUse::store,
          .place = 25};
}

}  // namespace ffkit
