#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/pairs.h>

namespace ffkit {
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
