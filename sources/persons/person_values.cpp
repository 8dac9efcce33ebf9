#include "persons/person_values.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <ffkit/pose/person_record.h>

#include "converter/input/sample_arrays.h"

namespace ffkit {
namespace {

// Copies numbers into memory that lives as long as the record is built.
template <typename T, size_t N>
TensorView person_numbers(SampleBuffers& buffers, const std::array<double, N>& values,
                          std::vector<int64_t> shape = {int64_t{N}}) {
  const std::span<T> out = new_array<T>(buffers, N);
  std::ranges::transform(values, out.begin(), [](double value) { return static_cast<T>(value); });
  return {dtype_of<T>(), std::move(shape), std::as_bytes(out)};
}

std::array<double, 4> numbers_of_box(const pose::Box& box) {
  return {box.x, box.y, box.width, box.height};
}

}  // namespace

Schema person_schema() {
  return {.fields = {{pose::person::kImage, FieldType::image},
                     {pose::person::kImageId, FieldType::scalar, DType::i64, true},
                     {pose::person::kAnnotationId, FieldType::scalar, DType::i64, true},
                     {pose::person::kWidth, FieldType::scalar, DType::i64, true},
                     {pose::person::kHeight, FieldType::scalar, DType::i64, true},
                     {pose::person::kBox, FieldType::tensor, DType::f64},
                     {pose::person::kBoxes, FieldType::tensor, DType::f32},
                     {pose::person::kFocal, FieldType::tensor, DType::f64},
                     {pose::person::kCentre, FieldType::tensor, DType::f64},
                     {pose::person::kRootImage, FieldType::tensor, DType::f64},
                     {pose::person::kRootCamera, FieldType::tensor, DType::f64},
                     {pose::person::kRootVisible, FieldType::scalar, DType::f32, true},
                     {pose::person::kHasDepth, FieldType::scalar, DType::u8, true},
                     {pose::person::kScore, FieldType::scalar, DType::f64, true},
                     {pose::person::kJoints, FieldType::tensor, DType::f32},
                     {pose::person::kPictureRoots, FieldType::tensor, DType::f64},
                     {pose::person::kId, FieldType::string, DType::u8, true}}};
}

void set_person(const PersonValues& values, RecordBuilder& record, SampleBuffers& buffers) {
  size_t field = 0;
  record.set_bytes(field++, values.image);
  record.set_scalar(field++, values.image_id);
  record.set_scalar(field++, values.annotation_id);
  record.set_scalar(field++, values.width);
  record.set_scalar(field++, values.height);
  record.set_tensor(field++, person_numbers<double>(buffers, numbers_of_box(values.box)));
  record.set_tensor(field++,
                    person_numbers<float>(buffers, numbers_of_box(values.annotated), {1, 4}));
  record.set_tensor(field++, person_numbers<double>(buffers, values.camera.focal));
  record.set_tensor(field++, person_numbers<double>(buffers, values.camera.centre));
  record.set_tensor(field++, person_numbers<double>(buffers, values.root_image));
  record.set_tensor(field++, person_numbers<double>(buffers, values.root_camera));
  record.set_scalar(field++, values.visible);
  record.set_scalar(field++, uint8_t(values.has_depth ? 1 : 0));
  record.set_scalar(field++, values.score);
  record.set_tensor(field++,
                    {DType::f32, {std::ssize(values.joints) / 3, 3}, std::as_bytes(values.joints)});
  record.set_tensor(
      field++,
      {DType::f64, {std::ssize(values.picture_roots) / 3, 3}, std::as_bytes(values.picture_roots)});
  record.set_string(field, buffers.text(values.id));
}

}  // namespace ffkit
