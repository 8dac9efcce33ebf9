#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/coco.h>
#include <ffkit/sources/persons.h>

#include "base/make_error.h"
#include "coco/annotated_pictures.h"
#include "coco/mask_options.h"
#include "converter/input/kind_options.h"
#include "converter/places/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPersonsGroup = "Persons";
constexpr const char* kHuman36mGroup = "Persons of human36m";

class CocoKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table.add("annotations", options_.annotations,
              "Annotation file of one split, instead of SRC/annotations/instances_*.json; needs " +
                  option_name("images"));
    table.add("images", options_.images,
              "Folder with the pictures of " + option_name("annotations"));
    table.add("keypoints", options_.keypoints, "Reads person_keypoints_*.json");
    masks_.describe(table);
    table.add("panoptic", options_.panoptic,
              "Reads the panoptic_*.json in this folder, and their PNGs in panoptic_*/ as a field; "
              "with " +
                  option_name("annotations") + ": the folder of the PNGs");
    table.add("allow-missing", options_.allow_missing, "Leaves out pictures whose file is missing");
    table
        .add("persons", persons_.set,
             "One record for each person, with its root joint, from this set in the form published "
             "for RootNet")
        .set_choices(person_set_names());
    ffkit::describe(persons_, table);
  }

  void check(const OptionTable& table) const override {
    const std::string persons = option_name("persons");
    for (const Option& option : table.options()) {
      if (!option.is_given) continue;
      const bool is_of_persons = option.group == kPersonsGroup;
      const bool is_of_human36m = option.group == kHuman36mGroup;
      if (is_of_human36m ? persons_.set == "human36m" : !is_of_persons || !persons_.set.empty()) {
        continue;
      }
      const std::string needed = persons_.set.empty() ? persons : option_set("persons", "human36m");
      table.refuse({option.name}, "has no effect without " + needed + "; leave it out");
    }
    if (!persons_.set.empty()) {
      table.refuse({"keypoints", "segmentation", "panoptic"},
                   "has no effect with " + persons + "; leave it out");
    }
    if (!options_.panoptic.empty()) {
      table.refuse({"keypoints", "segmentation"},
                   "has no effect with " + option_name("panoptic") + "; leave it out");
    }
    masks_.check();
    if (options_.annotations.empty() != options_.images.empty()) {
      throw argument_error("annotations", option_name("annotations") + " and " +
                                              option_name("images") +
                                              " belong together; give both");
    }
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    if (persons_.set.empty()) {
      CocoOptions options = set_by(options_, arguments);
      options.segmentation = masks_.has(kSegmentationJson);
      options.semantic_masks = masks_.has(kSemanticMask);
      options.instance_masks = masks_.has(kInstanceMasks);
      options.mask_runs = masks_.has(kMaskRuns);
      return open_coco(arguments.path, options);
    }
    if (arguments.images.exif == ExifUse::apply) {
      throw argument_error("exif", option_set("exif", "apply") + " has no effect with " +
                                       option_set("persons", persons_.set) + "; leave it out");
    }
    PersonsOptions options = persons_;
    options.annotations = options_.annotations;
    options.images = options_.images;
    options.allow_missing = options_.allow_missing;
    options.store = arguments.images.store;
    return open_persons(arguments.path, options);
  }

 private:
  CocoOptions options_;
  MaskFields masks_;
  PersonsOptions persons_;  // whose shared members are those of options_
};

AnnotatedSplit read_split(CocoListing from, const CocoOptions& options,
                          std::vector<std::string>& notes) {
  auto annotations = std::make_unique<InputFile>(from.annotations);
  SourceInput input = input_of(from.annotations.filename().string(), *annotations);
  const bool is_panoptic = !from.panoptic.empty();
  CocoFile file = read_coco_file(*annotations, is_panoptic);
  notes.insert(notes.end(), file.notes.begin(), file.notes.end());
  require_safe_names(file, from.annotations);
  std::vector<FileStamp> stamps = look_at_pictures(from.images, file.pictures);
  std::vector<FileStamp> panoptic;
  if (is_panoptic) panoptic = look_at_files(from.panoptic, file.panoptic_names);
  std::vector<size_t> taken =
      pictures_that_are_there(from, file, stamps, panoptic, options.allow_missing, notes);
  std::vector<std::vector<FileBeside>> beside(panoptic.size());
  for (size_t i = 0; i < panoptic.size(); ++i) {
    beside[i] = {{from.panoptic / file.panoptic_names[i], panoptic[i]}};
  }
  AnnotatedSplit split{.from = std::move(from), .file = std::move(file)};
  split.inputs = {std::move(input)};
  split.annotations = std::move(annotations);
  split.stamps = std::move(stamps);
  split.beside = std::move(beside);
  split.taken = std::move(taken);
  return split;
}

}  // namespace

void describe(PersonsOptions& options, OptionTable& table) {
  table.group(kPersonsGroup);
  table
      .add("detections", options.detections,
           "Uses the boxes of this JSON file, [{image_id, bbox, score}], for a test")
      .set_stored(false);
  table
      .add("min-distance", options.min_distance,
           "Leaves out persons nearer than this to another person, in mm, except the person "
           "nearest to the camera; 0: none")
      .set_range(0, 1'000'000)
      .set_unset(-1, "500 for muco, 0 for others");
  table
      .add("min-depth", options.min_depth,
           "Leaves out persons whose root is nearer to the camera than this, in mm")
      .set_range(0, 1'000'000)
      .set_unset(-1, "1500 for muco, 0 for others");
  table
      .add("max-depth", options.max_depth,
           "Leaves out persons whose root is further away than this, in mm; 0: none")
      .set_range(0, 1'000'000)
      .set_unset(-1, "7500 for muco, none for others");
  table.add("box-percent", options.box_percent, "Size of the crop, in percent of the square box")
      .set_range(1, 1000);
  table
      .add("min-box", options.min_box,
           "Leaves out boxes if one side has fewer pixels than this in the picture")
      .set_range(0, 65'500);
  table.group(kHuman36mGroup);
  table.add("protocol", options.protocol, "1: trains also on subject 9, tests only on subject 11")
      .set_range(1, 2);
  table.add("frame-step", options.frame_step, "Takes every n-th frame")
      .set_range(1, 1'000'000)
      .set_unset(-1, "5 to train, 64 to test");
}

SourceKind coco_kind() {
  return {.name = "coco",
          .description = "COCO: pictures with boxes, key points or segmentations",
          .example = "/data/coco /fast/coco",
          .options = make_source_options<CocoKind>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 40};
}

std::unique_ptr<Source> open_coco(const fs::path& path, const CocoOptions& options) {
  const PlacesListed listed;
  AnnotatedSet set{.kind = "coco",
                   .path = Place(path).path(),
                   .storage = as_they_are(options.store, options.exif),
                   .is_panoptic = !options.panoptic.empty(),
                   .has_segmentation = options.segmentation,
                   .masks = {.semantic = options.semantic_masks,
                             .instances = options.instance_masks,
                             .runs = options.mask_runs}};
  for (CocoListing& found : list_coco(set.path, options, set.notes)) {
    set.splits.push_back(read_split(std::move(found), options, set.notes));
  }
  return make_annotated_source(std::move(set));
}

}  // namespace ffkit
