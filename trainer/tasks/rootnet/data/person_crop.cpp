#include "tasks/rootnet/data/person_crop.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <ffkit/image/image_codec.h>
#include <ffkit/pose/person_record.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

namespace p = pose::person;

constexpr uint8_t kPersonCropStream = 130;  // none of the loader's, 0 .. 127, nor of others here
constexpr int64_t kMapStride = 4;           // pixels of a crop to a cell of the map

// Box and Muller's method.
double draw_normal(CounterRandom& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * M_PI * random.uniform());
}

template <typename T, size_t N>
std::array<T, N> numbers_of(const RecordView& record, size_t field, const char* name) {
  const TensorView tensor = record.tensor(field);
  std::array<T, N> out;
  if (tensor.dtype != dtype_of<T>() || tensor.data.size() != sizeof(out)) {
    throw error_of(ErrorCode::corrupt, "field '{}' does not contain {} numbers", name, N);
  }
  std::memcpy(out.data(), tensor.data.data(), sizeof(out));
  return out;
}

// A record's fields by position.
struct PersonFields {
  explicit PersonFields(const Schema& schema)
      : image(schema.require(p::kImage)),
        width(schema.require(p::kWidth)),
        box(schema.require(p::kBox)),
        focal(schema.require(p::kFocal)),
        centre(schema.require(p::kCentre)),
        root(schema.require(p::kRootImage)),
        visible(schema.require(p::kRootVisible)),
        has_depth(schema.require(p::kHasDepth)) {}

  pose::Box box_of(const RecordView& record) const {
    const auto n = numbers_of<double, 4>(record, box, p::kBox);
    if (!(n[2] > 0 && n[3] > 0)) throw Error(ErrorCode::corrupt, "its box has no width or height");
    return {n[0], n[1], n[2], n[3]};
  }
  PersonRoot root_of(const RecordView& record) const {
    return {.box = box_of(record),
            .camera = {numbers_of<double, 2>(record, focal, p::kFocal),
                       numbers_of<double, 2>(record, centre, p::kCentre)},
            .root = numbers_of<double, 3>(record, root, p::kRootImage),
            .visible = record.scalar<float>(visible),
            .have_depth = record.scalar<uint8_t>(has_depth) != 0 ? 1.0F : 0.0F,
            .picture_width = static_cast<int>(record.scalar<int64_t>(width))};
  }

  size_t image, width, box, focal, centre, root, visible, has_depth;
};

class CropDecoder final : public FieldDecoder {
 public:
  CropDecoder(const Schema& schema, int64_t size, const CropAugmentation& augmentation)
      : fields_(schema), size_(size), augmentation_(augmentation) {}

  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {size_, size_, 3}; }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Memory>(); }
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    auto& memory = static_cast<Memory&>(*scratch);
    const RgbView picture = memory.decoder.decode(record.bytes(fields_.image));
    const auto width = record.scalar<int64_t>(fields_.width);
    if (picture.width != width) {
      throw error_of(ErrorCode::corrupt, "its picture is {} pixels wide, but its record says {}",
                     picture.width, width);
    }
    const PersonCrop crop = draw_person_crop(fields_.box_of(record), augmentation_, key);
    const AffineMap map = affine_map(crop.affine, picture.width, size_);
    const auto side = static_cast<int>(size_);
    crop_pixels(picture, crop.affine, map,
                {.data = static_cast<uint8_t*>(out), .width = side, .height = side}, memory.mirror);
  }

 private:
  struct Memory : Scratch {
    ImageDecoder decoder;
    std::vector<uint8_t> mirror;
  };

  const PersonFields fields_;
  const int64_t size_;
  const CropAugmentation augmentation_;
};

class TargetDecoder final : public FieldDecoder {
 public:
  TargetDecoder(const Schema& schema, int64_t size, double real_size,
                const CropAugmentation& augmentation)
      : fields_(schema), size_(size), real_size_(real_size), augmentation_(augmentation) {}

  DType dtype() const override { return DType::f32; }
  std::vector<int64_t> shape() const override { return {CropTarget::kCount}; }
  void decode(const RecordView& record, const SampleKey& key, Scratch*, void* out) const override {
    const PersonRoot person = fields_.root_of(record);
    const auto target =
        crop_target(person, draw_person_crop(person.box, augmentation_, key), size_, real_size_);
    std::memcpy(out, target.data(), sizeof(target));
  }

 private:
  const PersonFields fields_;
  const int64_t size_;
  const double real_size_;
  const CropAugmentation augmentation_;
};

}  // namespace

// get_aug_config() of data/dataset.py.
PersonCrop draw_person_crop(const pose::Box& box, const CropAugmentation& augmentation,
                            const SampleKey& key) {
  PersonCrop crop{.affine = {.x = box.x, .y = box.y, .width = box.width, .height = box.height}};
  CounterRandom random(key, kPersonCropStream);
  const double angle = std::clamp(draw_normal(random), -2.0, 2.0) * augmentation.rotation;
  if (random.uniform() < augmentation.rotation_probability) crop.affine.degrees = angle;
  crop.affine.mirrored = random.uniform() < augmentation.flip;
  for (float& factor : crop.color) {
    factor = static_cast<float>(random.uniform(1 - augmentation.color, 1 + augmentation.color));
  }
  return crop;
}

std::array<float, CropTarget::kCount> crop_target(const PersonRoot& person, const PersonCrop& crop,
                                                  int64_t size, double real_size) {
  const AffineMap map = affine_map(crop.affine, person.picture_width, size);
  const auto [x, y] =
      crop_point(crop.affine, map, person.picture_width, person.root[0], person.root[1]);
  const auto side = static_cast<double>(size);
  const auto map_side = static_cast<double>(size / kMapStride);
  const bool is_inside = x >= 0 && x < side && y >= 0 && y < side;
  const double k = pose::distance_of_area(person.box.area(), person.camera, real_size * real_size);
  return {static_cast<float>(x / side * map_side),
          static_cast<float>(y / side * map_side),
          static_cast<float>(person.root[2]),
          is_inside ? person.visible : 0,
          person.have_depth,
          static_cast<float>(k),
          crop.color[0],
          crop.color[1],
          crop.color[2]};
}

std::shared_ptr<const FieldDecoder> person_crop_decoder(const Schema& schema, int64_t size,
                                                        const CropAugmentation& augmentation) {
  return std::make_shared<CropDecoder>(schema, size, augmentation);
}

std::shared_ptr<const FieldDecoder> crop_target_decoder(const Schema& schema, int64_t size,
                                                        double real_size,
                                                        const CropAugmentation& augmentation) {
  return std::make_shared<TargetDecoder>(schema, size, real_size, augmentation);
}

}  // namespace ffkit
