// data.yaml and labels of YOLO, and annotations of Pascal VOC, of any bytes: annotations that fit
// together, or an Error.
#include "base/printable.h"
#include "sources/voc/voc_annotations.h"
#include "sources/yolo/yolo_files.h"
#include "touch.h"

namespace {

void require(bool is_right) {
  if (!is_right) std::abort();
}

void check_labels(std::string_view text, const ffkit::DataYaml& yaml) {
  size_t num_left_out = 0;
  const ffkit::CocoFile file =
      ffkit::parse_yolo_labels(text, yaml, 2, {.width = 640, .height = 480}, true,
                               [&](const std::string&) { ++num_left_out; });
  const ffkit::CocoAnnotations& all = file.annotations;
  require(all.box.size() == 4 * all.size() && all.area.values.size() == all.size());
  require(file.annotations_of(0).size() == all.size());
  require(all.arrays.front().values.size() ==
          all.size() * static_cast<size_t>(yaml.num_keypoints) * 3);
  for (const int64_t id : all.category_id) {
    require(id >= 1 && id <= static_cast<int64_t>(yaml.names.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  ffkit::fuzzing::attempt([text] {
    const ffkit::DataYaml yaml = ffkit::parse_data_yaml(text, "data.yaml");
    require(!yaml.names.empty());
  });
  ffkit::fuzzing::attempt([text] {
    check_labels(text, {.names = {"a", "b"}});
    check_labels(text, {.names = {"a"}, .num_keypoints = 2, .keypoint_width = 3});
  });
  ffkit::fuzzing::attempt([text] {
    for (const ffkit::VocObject& object : ffkit::parse_voc_annotation(text).objects) {
      require(ffkit::is_utf8(object.pose));
    }
  });
  return 0;
}
