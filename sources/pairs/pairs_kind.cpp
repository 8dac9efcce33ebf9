#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/pairs.h>

#include "base/fnv.h"
#include "converter/input/input_file.h"
#include "converter/input/kind_options.h"
#include "converter/input/listed_source.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "pairs/pairs_listing.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

class Pairs : public ListedPictures {
 public:
  explicit Pairs(const PairsOptions& options)
      : ListedPictures(as_they_are(options.store, options.exif)) {
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
      inputs_.back().push_back(input_of(split.list.filename().string(), InputFile(split.list)));
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
    const bool is_turned = report_turned(picture, storer_, buffers);
    for (size_t i = 1; i < folders_.size(); ++i) {
      const PairFile& mask = pair.files[i];
      record.set_bytes(
          i, read_mask_file(folders_[i].path / mask.path, mask.stamp, numbers_[i], stored.size,
                            origin, folders_[i].field, buffers, is_turned));
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

  std::vector<PairsFolder> folders_;
  std::vector<MaskNumbers> numbers_;  // of each folder's files; of the first one's: no matter
  std::vector<PairSplit> splits_;
  std::vector<std::vector<SourceInput>> inputs_;  // of each split
};

class PairsKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table
        .add_named("folders", folders_,
                   "Folder of each field, such as image=/data/pictures mask=/data/masks. The first "
                   "folder contains the pictures. The other folders contain masks, with the names "
                   "of the pictures but other endings")
        .set_type_name("NAME=FOLDER")
        .set_argument();
    table
        .add("layout", options_.layout,
             "Uses the folders, suffixes and lists of a published data set, for example of "
             "ADEChallengeData2016 for 'ade20k' and of VOC2012 for 'voc'. Folders, suffixes and "
             "lists that you give have priority. Needs " +
                 option_name("root"))
        .set_choices(pair_layouts());
    table.add("root", options_.root,
              "Folder of the data set. ffconvert first looks in this folder for the paths in " +
                  option_name("folders") + " and " + option_name("list"));
    table
        .add_named("suffix", suffixes_,
                   "End of the file names of a field, behind the part that all fields share. Give "
                   "the end without the extension (mask=_gtFine_labelIds) or with the extension "
                   "(mask=_mask.png). ffconvert leaves out all other files, and prints a note")
        .set_type_name("NAME=SUFFIX");
    table.add_paths(
        "list",
        [this] {
          std::vector<std::string> lists;
          for (const fs::path& list : options_.lists) lists.push_back(list.string());
          return lists;
        },
        [this](const std::vector<std::string>& lists) {
          options_.lists.assign(lists.begin(), lists.end());
        },
        "Text file with the names to convert, one on each line. The split has the order of the "
        "lines and the name of the file. This option may be given several times");
    table
        .add_names("splits", options_.splits,
                   "Splits to convert. Each split has the name of its folder or list. If there are "
                   "no such folders and no lists, give a name for the only split")
        .set_default("all that are there");
    table
        .add_words(
            "unpaired", [this] { return options_.skip_unpaired ? "skip" : "fail"; },
            [this](const std::string& word) { options_.skip_unpaired = word == "skip"; },
            "Action if one of the folders has no file with a name. 'fail' ends the conversion with "
            "an error. 'skip' leaves out the name, and a note says how many names are left out")
        .set_choices({"fail", "skip"});
    table.add_names("panoptic", options_.panoptic,
                    "Fields with masks that store numbers as colours. The number is red + 256 * "
                    "green + 65536 * blue");
  }

  void check(const OptionTable& /*table*/) const override { validate(all_options()); }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    return open_pairs(set_by(all_options(), arguments));
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

struct KnownFolder {
  const char* field;
  const char* folder;
  const char* suffix;
};

struct KnownLayout {
  const char* name;
  std::array<KnownFolder, 2> folders;
  const char* lists;  // a folder of lists, of which train and val are taken; empty: none
};

constexpr std::array kLayouts = {
    KnownLayout{"ade20k", {{{"image", "images", ""}, {"mask", "annotations", ""}}}, ""},
    KnownLayout{
        "cityscapes",
        {{{"image", "leftImg8bit", "_leftImg8bit"}, {"mask", "gtFine", "_gtFine_labelIds"}}},
        ""},
    KnownLayout{"voc",
                {{{"image", "JPEGImages", ""}, {"mask", "SegmentationClass", ""}}},
                "ImageSets/Segmentation"}};

// The field with the names of the records.
constexpr const char* kNameField = "id";

// Null where there is none.
const KnownLayout* known_layout(const std::string& name) {
  const auto found = std::ranges::find(kLayouts, name, &KnownLayout::name);
  return found == kLayouts.end() ? nullptr : &*found;
}

// Those of the layout, then those that are given; without their paths being looked for.
std::vector<PairsFolder> named_folders(const PairsOptions& options) {
  std::vector<PairsFolder> folders;
  if (const KnownLayout* layout = known_layout(options.layout)) {
    for (const auto& [field, folder, suffix] : layout->folders) {
      folders.push_back({field, folder, suffix});
    }
  }
  for (const auto& [field, folder] : options.folders) {
    const auto found = std::ranges::find(folders, field, &PairsFolder::field);
    if (found == folders.end()) {
      folders.push_back({field, folder, {}});
    } else {
      found->path = folder;
    }
  }
  for (PairsFolder& folder : folders) {
    const auto given = options.suffixes.find(folder.field);
    if (given != options.suffixes.end()) folder.suffix = given->second;
  }
  return folders;
}

void require_field(const char* option, const std::vector<PairsFolder>& folders,
                   const std::string& field) {
  std::vector<std::string> fields;
  fields.reserve(folders.size());
  for (const PairsFolder& folder : folders) fields.push_back(folder.field);
  if (std::ranges::find(fields, field) != fields.end()) return;
  throw argument_error(option, fmt::format("{}: unknown field '{}'; expected one of {}",
                                           option_name(option), field, fmt::join(fields, ", ")));
}

fs::path found_folder(const PairsOptions& options, const PairsFolder& folder) {
  fs::path below = options.root / folder.path;
  refuse_dangling_link(below);
  std::error_code none;
  if (is_folder_at(below, none)) return below;
  const bool is_given = std::ranges::find(options.folders, folder.field, &PairedFolder::field) !=
                        options.folders.end();
  if (is_given && !exists_at(below, none)) {
    refuse_dangling_link(folder.path);
    if (is_folder_at(folder.path, none)) return folder.path;
  }
  if (exists_at(below, none)) {
    throw source_error(below, ErrorCode::not_found,
                       "this is a file; give the folder with the files of '{}'", folder.field);
  }
  throw source_error(below, ErrorCode::not_found,
                     "there is no such folder for the field '{}'; give another folder with {}",
                     folder.field, option_name("folders"));
}

// The lists of the layout: of the splits that are wanted, else train and val.
std::vector<fs::path> lists_of_layout(const PairsOptions& options, const fs::path& folder) {
  std::vector<fs::path> lists;
  const std::vector<std::string> usual = {"train", "val"};
  for (const std::string& name : options.splits.empty() ? usual : options.splits) {
    const fs::path list = folder / (name + ".txt");
    std::error_code none;
    if (exists_at(list, none) || !dangling_link(list).empty()) {
      lists.push_back(list);
    } else if (!options.splits.empty()) {
      throw source_error(list, ErrorCode::not_found,
                         "there is no such list for the split '{}'; name another split with {}",
                         name, option_name("splits"));
    }
  }
  if (lists.empty()) {
    throw source_error(
        folder, ErrorCode::not_found,
        "the folder contains neither train.txt nor val.txt; name another list with {}",
        option_name("list"));
  }
  return lists;
}

}  // namespace

std::unique_ptr<Source> open_pairs(const PairsOptions& options) {
  const PlacesListed listed;
  return std::make_unique<Pairs>(options);
}

SourceKind pairs_kind() {
  return {.name = "pairs",
          .description =
              "Pictures and masks in separate folders. A picture and its mask have the same name",
          .example =
              "/fast/pairs image=/data/pictures mask=/data/masks\n"
              "  ffconvert pairs /fast/voc --layout voc --root /data/VOC2012",
          .options = make_source_options<PairsKind>,
          .needs_path = false,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 25};
}

std::vector<std::string> pair_layouts() {
  return names_in(kLayouts);
}

void validate(const PairsOptions& options) {
  if (!options.layout.empty()) {
    require_names("layout", {options.layout}, pair_layouts());
    if (options.root.empty()) {
      throw argument_error("root",
                           fmt::format("{} needs {}, the folder of the data set",
                                       option_set("layout", options.layout), option_name("root")));
    }
  }
  require_different("splits", options.splits);
  require_different("panoptic", options.panoptic);
  std::vector<std::string> given;
  for (const PairedFolder& folder : options.folders) given.push_back(folder.field);
  require_different("folders", given);
  const std::vector<PairsFolder> folders = named_folders(options);
  for (const PairsFolder& folder : folders) {
    if (folder.field != kNameField && !folder.field.empty()) continue;
    throw argument_error(
        "folders", folder.field.empty()
                       ? fmt::format("{}: a folder has no name of a field; write FIELD=FOLDER",
                                     option_name("folders"))
                       : fmt::format("{}: ffkit uses the name '{}' for the field with the names of "
                                     "the records; give the field of your folder another name",
                                     option_name("folders"), kNameField));
  }
  for (const PairedFolder& folder : options.folders) {
    if (!folder.folder.empty()) continue;
    throw argument_error("folders", fmt::format("{}: the field '{}' has no folder",
                                                option_name("folders"), folder.field));
  }
  if (folders.size() < 2) {
    throw argument_error("folders",
                         fmt::format("{}: give at least two folders, one with pictures and one "
                                     "with masks, such as image=FOLDER and mask=FOLDER",
                                     option_name("folders")));
  }
  for (const auto& [field, suffix] : options.suffixes) require_field("suffix", folders, field);
  for (const std::string& field : options.panoptic) {
    require_field("panoptic", folders, field);
    if (field != folders.front().field) continue;
    throw argument_error(
        "panoptic",
        fmt::format("{}: the field '{}' has the pictures, not masks; name a field with masks",
                    option_name("panoptic"), field));
  }
}

PairsLayout find_pairs_layout(const PairsOptions& options) {
  validate(options);
  PairsLayout layout{.folders = named_folders(options), .lists = options.lists};
  for (PairsFolder& folder : layout.folders) folder.path = found_folder(options, folder);
  for (fs::path& list : layout.lists) {
    std::error_code none;
    if (!options.root.empty() && exists_at(options.root / list, none)) list = options.root / list;
  }
  const KnownLayout* known = known_layout(options.layout);
  if (layout.lists.empty() && known != nullptr && *known->lists != '\0') {
    layout.lists = lists_of_layout(options, options.root / known->lists);
    layout.is_chosen = true;
  }
  return layout;
}

}  // namespace ffkit
