#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/coco.h>
#include <ffkit/sources/persons.h>

#include "base/make_error.h"
#include "converter/input/names.h"

namespace ffkit {
namespace {

constexpr const char* kPersonsGroup = "Persons";
constexpr const char* kHuman36mGroup = "Persons of human36m";
// What `segmentation` makes.
constexpr const char* kSemanticMask = "semantic";
constexpr const char* kInstanceMasks = "instances";
constexpr const char* kMaskRuns = "masks";
constexpr const char* kSegmentationJson = "json";

}  // namespace

void describe(PersonsOptions& options, OptionTable& table) {
  table.group(kPersonsGroup);
  table
      .add("detections", options.detections,
           "Takes the boxes of this JSON file, [{image_id, bbox, score}], to test on")
      .set_stored(false);
  table
      .add("min-distance", options.min_distance,
           "Beside the one nearest to the camera, leaves out persons nearer than this to another, "
           "mm; 0: none")
      .set_range(0, 1'000'000)
      .set_unset(-1, "500 of muco, 0 of others");
  table.add("min-depth", options.min_depth, "Leaves out roots that are nearer to the camera, mm")
      .set_range(0, 1'000'000)
      .set_unset(-1, "1500 of muco, 0 of others");
  table.add("max-depth", options.max_depth, "Leaves out roots that are further away, mm; 0: none")
      .set_range(0, 1'000'000)
      .set_unset(-1, "7500 of muco, none of others");
  table
      .add("box-percent", options.box_percent,
           "What is cropped is as large as this share of the box, made square")
      .set_range(1, 1000);
  table
      .add("min-box", options.min_box,
           "Leaves out boxes with a side of fewer pixels in the picture")
      .set_range(0, 65'500);
  table.group(kHuman36mGroup);
  table.add("protocol", options.protocol, "1: trains on subject 9 too, and tests on 11 alone")
      .set_range(1, 2);
  table.add("frame-step", options.frame_step, "Takes every n-th frame")
      .set_range(1, 1'000'000)
      .set_unset(-1, "5 to train, 64 to test");
}

namespace {

class CocoKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table.add("annotations", options_.annotations,
              "Annotation file of one split, instead of SRC/annotations/instances_*.json; needs " +
                  option_name("images"));
    table.add("images", options_.images,
              "Folder with the pictures of " + option_name("annotations"));
    table.add("keypoints", options_.keypoints, "Reads person_keypoints_*.json");
    table.add_names("segmentation", segmentation_,
                    "Fields made of the segmentations, one or several. semantic: a mask of "
                    "categories' ids; instances: a mask of the numbers of annotations, from 1; "
                    "masks: a mask of each annotation; json: their text");
    table.add("panoptic", options_.panoptic,
              "Takes the panoptic_*.json of this folder, and their PNGs in panoptic_*/ as a field; "
              "with " +
                  option_name("annotations") + ": folder of its PNGs");
    table.add("allow-missing", options_.allow_missing, "Leaves out pictures whose file is missing");
    table
        .add("persons", persons_.set,
             "One record a person, with its root joint, of this set as it is published for RootNet")
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
    if (!segmentation_.empty()) {
      require_names("segmentation", segmentation_,
                    std::array{kSemanticMask, kInstanceMasks, kMaskRuns, kSegmentationJson});
    }
    if (options_.annotations.empty() != options_.images.empty()) {
      throw argument_error("annotations", option_name("annotations") + " and " +
                                              option_name("images") +
                                              " belong together; give both");
    }
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    if (persons_.set.empty()) {
      CocoOptions options = options_;
      options.store = arguments.images.store;
      options.segmentation = has_field(kSegmentationJson);
      options.semantic_masks = has_field(kSemanticMask);
      options.instance_masks = has_field(kInstanceMasks);
      options.mask_runs = has_field(kMaskRuns);
      return open_coco(arguments.path, options);
    }
    PersonsOptions options = persons_;
    options.annotations = options_.annotations;
    options.images = options_.images;
    options.allow_missing = options_.allow_missing;
    options.store = arguments.images.store;
    return open_persons(arguments.path, options);
  }

 private:
  bool has_field(const char* name) const {
    return std::ranges::find(segmentation_, name) != segmentation_.end();
  }

  CocoOptions options_;
  std::vector<std::string> segmentation_;
  PersonsOptions persons_;  // whose shared members are those of options_
};

}  // namespace

SourceKind coco_kind() {
  return {.name = "coco",
          .description = "COCO: pictures with boxes, key points or segmentations",
          .example = "/data/coco /fast/coco",
          .options = make_source_options<CocoKind>,
          .pictures = PictureUse::store,
          .place = 40};
}

}  // namespace ffkit
