#include "tasks/bevformer/data/frames.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace ffkit {
namespace {

constexpr int64_t kNumCameras = 6;
constexpr double kPi = std::numbers::pi;

// -pi .. pi
at::Tensor wrapped(const at::Tensor& angle) {
  return at::remainder(angle + kPi, 2 * kPi) - kPi;
}

// Camera `number` of six, 60 degrees apart, that see 90 degrees each, 1.5 m below the lidar.
at::Tensor camera_matrix(int64_t number, double height, double width) {
  const double yaw = static_cast<double>(number) * kPi / 3;
  const double ahead_x = std::sin(yaw), ahead_y = std::cos(yaw);
  const double right_x = ahead_y, right_y = -ahead_x;
  const double focal = width / 2;
  at::Tensor m = at::zeros({4, 4}, at::kFloat);
  // Times depth: u = focal * right + width / 2 * ahead, v = focal * down + height / 2 * ahead.
  m[0][0] = focal * right_x + width / 2 * ahead_x;
  m[0][1] = focal * right_y + width / 2 * ahead_y;
  m[1][0] = height / 2 * ahead_x;
  m[1][1] = height / 2 * ahead_y;
  m[1][2] = -focal;
  m[1][3] = -1.5 * focal;
  m[2][0] = ahead_x;
  m[2][1] = ahead_y;
  m[3][3] = 1;
  return m;
}

}  // namespace

std::vector<BevFrame> frames_of(const DeviceBatch& batch, int64_t length, bool is_bgr) {
  const auto by_frame = [&](const char* field) {
    return batch.field(field).unflatten(0, {batch.size, length});
  };
  at::Tensor images = by_frame("images");
  if (is_bgr) images = images.flip({3});
  const at::Tensor matrices = by_frame("lidar_to_image").to(at::kDouble);
  const at::Tensor motion = by_frame("motion");
  const at::Tensor has_previous = by_frame("has_previous");
  std::vector<BevFrame> frames;
  for (int64_t i = 0; i < length; ++i) {
    frames.push_back({.images = images.select(1, i),
                      .lidar2img = matrices.select(1, i),
                      .can_bus = motion.select(1, i),
                      .has_previous = has_previous.select(1, i)});
  }
  return frames;
}

std::vector<Objects> objects_of(const DeviceBatch& batch, int64_t length) {
  const at::Tensor boxes = to_published_boxes(batch.field("boxes"));
  const at::Tensor& labels = batch.field("box_classes");
  const auto* offsets = batch.row_offsets("boxes").const_data_ptr<int64_t>();
  std::vector<Objects> out;
  for (int64_t sample = length - 1; sample < batch.size * length; sample += length) {
    const int64_t first = offsets[sample], count = offsets[sample + 1] - first;
    out.push_back(
        {.boxes = boxes.narrow(0, first, count), .labels = labels.narrow(0, first, count)});
  }
  return out;
}

at::Tensor to_published_boxes(const at::Tensor& boxes) {
  const std::vector<at::Tensor> b = boxes.unbind(1);
  return at::stack(
      {b[0], b[1], b[2] - b[5] * 0.5, b[4], b[3], b[5], wrapped(-b[6] - kPi / 2), b[7], b[8]}, 1);
}

at::Tensor from_published_boxes(const at::Tensor& boxes) {
  const std::vector<at::Tensor> b = boxes.unbind(1);
  return at::stack(
      {b[0], b[1], b[2] + b[5] * 0.5, b[4], b[3], b[5], wrapped(-b[6] - kPi / 2), b[7], b[8]}, 1);
}

DeviceBatch noise_windows(int64_t batch_size, int64_t length, int64_t height, int64_t width,
                          int64_t num_objects, uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const int64_t frames = batch_size * length, rows = frames * num_objects;
  std::vector<at::Tensor> cameras;
  for (int64_t i = 0; i < kNumCameras; ++i) {
    cameras.push_back(camera_matrix(i, static_cast<double>(height), static_cast<double>(width)));
  }
  at::Tensor boxes = at::rand({rows, 9}, generator, at::kFloat);
  boxes.narrow(1, 0, 2).mul_(60).sub_(30);
  boxes.narrow(1, 3, 3).add_(1);
  const at::Tensor offsets = at::arange(frames + 1, at::kLong) * num_objects;
  return {
      .size = batch_size,
      .fields = {
          {.name = "images",
           .values = at::randn({frames, kNumCameras, 3, height, width}, generator, at::kFloat)},
          {.name = "lidar_to_image",
           .values = at::stack(cameras).unsqueeze(0).repeat({frames, 1, 1, 1})},
          {.name = "motion", .values = at::zeros({frames, 18}, at::kDouble)},
          {.name = "has_previous", .values = at::arange(frames, at::kLong).remainder(length).ne(0)},
          {.name = "boxes", .values = boxes, .row_offsets = offsets},
          {.name = "box_classes",
           .values = at::arange(rows, at::kLong).remainder(10),
           .row_offsets = offsets}}};
}

namespace {

constexpr uint8_t kGridMaskStream = 129;  // none of the loader's, 0 .. 127, nor of the step's, 128

// [side] 1 on a line. Lines are drawn on half as many pixels again, whose middle is taken; behind
// the last whole period there is none.
at::Tensor lines(int64_t side, int64_t period, int64_t breadth, int64_t first) {
  const int64_t drawn = side * 3 / 2;
  at::Tensor out = at::zeros({drawn}, at::kFloat);
  for (int64_t i = 0; i < drawn / period; ++i) {
    const int64_t begin = period * i + first;
    const int64_t end = std::min(begin + breadth, drawn);
    if (begin < end) out.narrow(0, begin, end - begin).fill_(1);
  }
  return out.narrow(0, (drawn - side) / 2, side);
}

}  // namespace

at::Tensor draw_grid_mask(int64_t height, int64_t width, double probability,
                          CounterRandom& random) {
  if (random.uniform() >= probability || height < 3) return {};
  const int64_t period = 2 + random.below(height - 2);
  const int64_t breadth = std::clamp<int64_t>((period + 1) / 2, 1, period - 1);
  const int64_t first_row = random.below(period);
  const int64_t first_column = random.below(period);
  const at::Tensor rows = lines(height, period, breadth, first_row);
  const at::Tensor columns = lines(width, period, breadth, first_column);
  return at::maximum(rows.unsqueeze(1), columns.unsqueeze(0));
}

at::Tensor cover_with_grids(const at::Tensor& images, double probability, uint64_t seed,
                            int64_t epoch, std::span<const int64_t> keyframes) {
  std::vector<at::Tensor> samples;
  for (int64_t i = 0; i < images.size(0); ++i) {
    CounterRandom random({seed, epoch, keyframes[i]}, kGridMaskStream);
    const at::Tensor mask = draw_grid_mask(images.size(3), images.size(4), probability, random);
    samples.push_back(images[i]);
    if (mask.defined()) samples.back() = samples.back() * mask.to(images.device());
  }
  return at::stack(samples);
}

}  // namespace ffkit
