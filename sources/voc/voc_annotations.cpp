#include "voc/voc_annotations.h"

#include <algorithm>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "storage/xml/xml.h"

namespace ffkit {
namespace {

std::optional<double> number_in(const XmlElement& parent, std::string_view child) {
  return number_of_text<double>(trimmed(parent.text_of(child)));
}

int64_t side_in(const XmlElement& parent, std::string_view child) {
  constexpr double kMaxSide = 1e9;
  const double side = number_in(parent, child).value_or(-1);
  return side >= 1 && side < kMaxSide ? static_cast<int64_t>(side) : -1;
}

VocObject object_of(const XmlElement& element) {
  VocObject object{.name = std::string(trimmed(element.text_of("name")))};
  if (const XmlElement* box = element.find("bndbox")) {
    const std::array edges = {number_in(*box, "xmin"), number_in(*box, "ymin"),
                              number_in(*box, "xmax"), number_in(*box, "ymax")};
    if (std::ranges::all_of(edges, [](const auto& edge) { return edge.has_value(); })) {
      object.box = {*edges[0], *edges[1], *edges[2], *edges[3]};
    }
  }
  object.is_difficult = number_in(element, "difficult").value_or(0) != 0;
  object.is_truncated = number_in(element, "truncated").value_or(0) != 0;
  object.is_occluded = number_in(element, "occluded").value_or(0) != 0;
  const std::string_view pose = trimmed(element.text_of("pose"));
  if (!pose.empty()) object.pose = utf8_of(pose);
  object.num_parts = static_cast<size_t>(
      std::ranges::count(element.children, std::string_view("part"), &XmlElement::name));
  return object;
}

}  // namespace

VocAnnotation parse_voc_annotation(std::string_view text) {
  const XmlElement root = parse_xml(text);
  if (root.name != "annotation") {
    throw error_of(ErrorCode::invalid_argument, "is an XML file of <{}>, not of Pascal VOC",
                   printable(root.name));
  }
  VocAnnotation annotation;
  if (const XmlElement* size = root.find("size")) {
    annotation.width = side_in(*size, "width");
    annotation.height = side_in(*size, "height");
  }
  for (const XmlElement& child : root.children) {
    if (child.name == "object") annotation.objects.push_back(object_of(child));
  }
  return annotation;
}

const std::vector<std::string>& voc_classes() {
  static const std::vector<std::string> classes = {
      "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",      "car",
      "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",    "motorbike",
      "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};
  return classes;
}

}  // namespace ffkit
