// What files of YOLO say: data.yaml, and the labels of each picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/image_storage.h>

#include "coco/coco_file.h"

namespace ffkit {

// data.yaml of Ultralytics' data sets: where the pictures of each split are, and the classes.
struct DataYaml {
  std::string path;  // the folder that the splits are below; empty: the file's
  // train, val, test: folders of pictures, or text files that list them.
  std::map<std::string, std::vector<std::string>> splits;
  std::vector<std::string> names;  // of the classes, in their order
  int64_t num_keypoints = 0;       // of each label; 0: they have none
  int64_t keypoint_width = 0;      // 2: x, y; 3: and whether it is seen
};

// Reads `text`, whose file messages call `file`. What is read of YAML: members of the outermost
// mapping, whose values are scalars, lists, or mappings of scalars, in blocks or in brackets.
// Members that mean nothing here are passed over. Throws Error(invalid_argument) for what is no
// such YAML, anchors, tags and texts of several lines where they would be needed, and for classes
// that are not numbered from 0 on.
DataYaml parse_data_yaml(std::string_view text, const std::filesystem::path& file);

// Files of labels: one annotation a line, in shares of the picture's sides.

// What annotations will have, for AnnotatedSplit::file.
void declare_yolo_arrays(const DataYaml& yaml, CocoAnnotations& annotations);

// The annotations of the picture of `number` and `size`, as a file of one picture. `has_polygons`:
// with their segmentations. A line that is none, or is there twice, is left out: leave_out() is
// told which one it is and why.
CocoFile parse_yolo_labels(std::string_view text, const DataYaml& yaml, size_t number,
                           PixelSize size, bool has_polygons,
                           const std::function<void(const std::string& why)>& leave_out);

}  // namespace ffkit
