// A person as its record: ffkit/pose/person_record.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <ffkit/converter/source.h>
#include <ffkit/pose/geometry.h>

namespace ffkit {

struct PersonValues {
  std::span<const std::byte> image;
  int64_t image_id = 0, annotation_id = 0;
  int64_t width = 0, height = 0;  // of the picture
  pose::Box box, annotated;
  pose::Camera camera;
  pose::Point3 root_image = {}, root_camera = {};
  float visible = 0;
  bool has_depth = false;
  double score = 1;
  std::span<const float> joints;          // [J, 3]
  std::span<const double> picture_roots;  // [R, 3]
  std::string id;
};

Schema person_schema();
// What the spans point to must live until the record is encoded, and `buffers` not be cleared.
void set_person(const PersonValues& values, RecordBuilder& record, SampleBuffers& buffers);

}  // namespace ffkit
