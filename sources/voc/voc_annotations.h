// Annotations of Pascal VOC: one XML file a picture.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

struct VocObject {
  std::string name;
  std::optional<std::array<double, 4>> box;  // xmin, ymin, xmax, ymax as the file has them
  bool is_difficult = false;
  bool is_truncated = false;
  bool is_occluded = false;
  std::string pose = "Unspecified";
  size_t num_parts = 0;  // heads, hands and feet of a person
};

struct VocAnnotation {
  int64_t width = -1;  // -1: not said
  int64_t height = -1;
  std::vector<VocObject> objects;
};

// Throws Error(corrupt) for what is no XML, Error(invalid_argument) for other XML.
VocAnnotation parse_voc_annotation(std::string_view text);

// aeroplane to tvmonitor, in the order of VOC's masks.
const std::vector<std::string>& voc_classes();

}  // namespace ffkit
