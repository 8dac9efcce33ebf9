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
              "Annotation file of one split. Without this option, ffconvert reads "
              "SRC/annotations/instances_*.json. Needs " +
                  option_name("images"));
    table.add("images", options_.images,
              "Folder with the pictures of the file in " + option_name("annotations"));
    table.add("keypoints", options_.keypoints,
              "Reads the key points of persons in person_keypoints_*.json");
    masks_.describe(table);
    table.add("panoptic", options_.panoptic,
              "Folder with files panoptic_*.json, and with their PNGs in folders panoptic_*/. The "
              "PNGs become a field. With " +
                  option_name("annotations") + ", give only the folder of the PNGs");
    table.add("allow-missing", options_.allow_missing,
              "Leaves out a picture if its file is missing");
    table
        .add("persons", persons_.set,
             "Makes one record for each person, with the root joint of the person. SRC is this "
             "data set in the form that was published for RootNet")
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
                                              " must be given together; give both options");
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
  const bool is_panoptic = !from.panoptic.empty();
  AnnotatedSplit split{.from = std::move(from)};
  const CocoListing& places = split.from;
  split.annotations = std::make_unique<InputFile>(places.annotations);
  split.inputs = {input_of(places.annotations.filename().string(), *split.annotations)};
  split.file = read_coco_file(*split.annotations, is_panoptic);
  notes.insert(notes.end(), split.file.notes.begin(), split.file.notes.end());
  require_safe_names(split.file, places.annotations);
  split.stamps = look_at_pictures(places.images, split.file.pictures);
  std::vector<FileStamp> panoptic;
  if (is_panoptic) panoptic = look_at_files(places.panoptic, split.file.panoptic_names);
  split.taken = pictures_that_are_there(places, split.file, split.stamps, panoptic,
                                        options.allow_missing, notes);
  split.beside.resize(panoptic.size());
  for (size_t i = 0; i < panoptic.size(); ++i) {
    split.beside[i] = {{places.panoptic / split.file.panoptic_names[i], panoptic[i]}};
  }
  return split;
}

}  // namespace

void describe(PersonsOptions& options, OptionTable& table) {
  table.group(kPersonsGroup);
  table
      .add("detections", options.detections,
           "JSON file of the form [{image_id, bbox, score}]. For a test, ffconvert uses the boxes "
           "in this file instead of the annotated boxes")
      .set_stored(false);
  table
      .add("min-distance", options.min_distance,
           "Leaves out a person if the distance to another person is less than this number of mm. "
           "The person nearest to the camera is kept. 0 leaves out no person")
      .set_range(0, 1'000'000)
      .set_unset(-1, "500 for muco, 0 for others");
  table
      .add("min-depth", options.min_depth,
           "Leaves out a person if the root of the person is nearer to the camera than this number "
           "of mm")
      .set_range(0, 1'000'000)
      .set_unset(-1, "1500 for muco, 0 for others");
  table
      .add("max-depth", options.max_depth,
           "Leaves out a person if the root of the person is further from the camera than this "
           "number of mm. 0 leaves out no person")
      .set_range(0, 1'000'000)
      .set_unset(-1, "7500 for muco, none for others");
  table
      .add("box-percent", options.box_percent,
           "Size of the crop, in percent of the size of the square box around the person")
      .set_range(1, 1000);
  table
      .add("min-box", options.min_box,
           "Leaves out a box if one side of the box has fewer pixels in the picture than this "
           "number")
      .set_range(0, 65'500);
  table.group(kHuman36mGroup);
  table
      .add("protocol", options.protocol,
           "Protocol of Human3.6M. Protocol 1 also trains on subject 9, and tests only on subject "
           "11. Protocol 2 tests on subjects 9 and 11")
      .set_range(1, 2);
  table
      .add("frame-step", options.frame_step,
           "Converts only every n-th frame, with this number as n")
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
