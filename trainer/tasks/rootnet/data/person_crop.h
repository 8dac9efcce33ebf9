// A person's crop as RootNet sees it: how it is drawn, its pixels, and where the root lies in it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <ffkit/image/affine_crop.h>
#include <ffkit/image/random.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/pose/geometry.h>

namespace ffkit {

// How training crops change. Without it, crops are as in an evaluation.
struct CropAugmentation {
  double rotation = 0;  // degrees: deviation of the angle
  double rotation_probability = 0;
  double flip = 0;
  double color = 0;
};

struct PersonCrop {
  AffineCrop affine;
  std::array<float, 3> color = {1, 1, 1};  // factors of red, green and blue
};
// Depends on the key alone.
PersonCrop draw_person_crop(const pose::Box& box, const CropAugmentation& augmentation,
                            const SampleKey& key);

struct PersonRoot {
  pose::Box box;
  pose::Camera camera;
  pose::Point3 root = {};  // x, y in pixels, depth
  float visible = 0;
  float have_depth = 0;
  int picture_width = 0;
};

// What a batch's field "target" holds for each sample.
struct CropTarget {
  static constexpr int64_t kCount = 9;
  enum : size_t { kX, kY, kDepth, kVisible, kHaveDepth, kK, kRed, kGreen, kBlue };
};
// Root on the map, whose side is a quarter of the crop's `size`; 0 or 1 for being visible and in
// the crop; k; and the factors of the colours.
std::array<float, CropTarget::kCount> crop_target(const PersonRoot& person, const PersonCrop& crop,
                                                  int64_t size, double real_size);

// "crop" [size, size, 3] u8 and "target" [9] f32 of records of persons. Throws Error(not_found) for
// a schema that lacks their fields.
std::shared_ptr<const FieldDecoder> person_crop_decoder(const Schema& schema, int64_t size,
                                                        const CropAugmentation& augmentation);
std::shared_ptr<const FieldDecoder> crop_target_decoder(const Schema& schema, int64_t size,
                                                        double real_size,
                                                        const CropAugmentation& augmentation);

}  // namespace ffkit
