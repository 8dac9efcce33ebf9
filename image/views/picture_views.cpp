#include "views/picture_views.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "codec/decode_scale.h"
#include "codec/jpeg_decoder.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

int64_t nanoseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

Rect smallest_around(const Rect& a, const Rect& b) {
  const int x = std::min(a.x, b.x);
  const int y = std::min(a.y, b.y);
  return {x, y, std::max(a.x + a.width, b.x + b.width) - x,
          std::max(a.y + a.height, b.y + b.height) - y};
}

}  // namespace

PictureViews::PictureViews(std::vector<ImageOptions> views) {
  for (ImageOptions& options : views) {
    renderers_.emplace_back(options);
    transforms_.push_back(options.transform);
  }
}

void PictureViews::begin(std::span<const std::byte> encoded, std::span<const size_t> views,
                         std::span<const SampleKey> keys, PipelineTimes& times) {
  const auto begun = Clock::now();
  decoded_.reset();
  has_begun_ = false;
  encoded_ = encoded;
  info_ = decoder_.read_info(encoded);
  has_begun_ = true;
  pictures_.resize(views.size());
  last_wanted_.assign(renderers_.size(), std::numeric_limits<size_t>::max());
  for (size_t i = 0; i < views.size(); ++i) {
    Picture& picture = pictures_[i];
    picture.view = views[i];
    picture.key = keys[i];
    picture.plan = plan_crop(transforms_[views[i]], info_.width, info_.height, keys[i]);
    picture.is_wide = renderers_[views[i]].is_wide(info_);
    picture.wanted = renderers_[views[i]].wanted(picture.plan, picture.is_wide);
    last_wanted_[views[i]] = i;
  }
  times.decode_ns += nanoseconds(begun, Clock::now());
}

// What all pictures of 8 bits, or all of 16, need together.
void PictureViews::decode(bool is_wide) {
  if (!has_begun_) decoder_.read_info(encoded_);
  has_begun_ = false;
  decoded_.reset();
  std::optional<Rect> all;
  int denominator = 8;
  for (const Picture& picture : pictures_) {
    if (picture.is_wide != is_wide) continue;
    const WantedPixels& wanted = picture.wanted;
    all = all ? smallest_around(*all, wanted.rect) : wanted.rect;
    denominator = std::min(
        denominator, choose_denominator(wanted.rect, wanted.min_width, wanted.min_height));
  }
  Decoded decoded{.is_wide = is_wide, .rect = *all};
  if (is_wide) {
    decoded.wide = decoder_.read_wide_region(*all);
  } else if (denominator == 1) {
    decoded.region = decoder_.read_region(*all, 0, 0);
  } else {
    decoded.region =
        decoder_.read_region(*all, all->width / denominator, all->height / denominator);
  }
  decoded_ = decoded;
}

// As if the decoder had been asked for `wanted` alone, at the fraction that was decoded.
ImageDecoder::Region PictureViews::part_of(const Rect& wanted) const {
  const ImageDecoder::Region& all = decoded_->region;
  const Rect& rect = decoded_->rect;
  const double scale = rect.width / all.width;  // 1, 2, 4 or 8, exactly
  const auto denominator = static_cast<int>(scale);
  const int left = rect.x / denominator - all.wanted.x;  // of the scaled picture, that pixels begin
  const int top = rect.y / denominator - all.wanted.y;
  const int x = wanted.x / denominator;
  const int y = wanted.y / denominator;
  return {.pixels = all.pixels,
          .wanted = {x - left, y - top,
                     scaled_jpeg_size(wanted.x + wanted.width, denominator) - x,
                     scaled_jpeg_size(wanted.y + wanted.height, denominator) - y},
          .x = wanted.x / scale - left,
          .y = wanted.y / scale - top,
          .width = wanted.width / scale,
          .height = wanted.height / scale};
}

WideRgbView PictureViews::wide_part_of(const Rect& wanted) const {
  const WideRgbView& all = decoded_->wide;
  const Rect& rect = decoded_->rect;
  return {all.data + (wanted.y - rect.y) * all.stride + ptrdiff_t{3} * (wanted.x - rect.x),
          wanted.width, wanted.height, all.stride};
}

void PictureViews::write(size_t i, void* out, PipelineTimes& times) {
  const auto begin = Clock::now();
  const Picture& picture = pictures_[i];
  if (!decoded_ || decoded_->is_wide != picture.is_wide) decode(picture.is_wide);
  const auto decoded = Clock::now();
  ViewRenderer& renderer = renderers_[picture.view];
  if (last_wanted_[picture.view] != i) {
    renderer.wanted(picture.plan, picture.is_wide);
    last_wanted_[picture.view] = i;
  }
  if (picture.is_wide) {
    renderer.run_wide(wide_part_of(picture.wanted.rect), picture.plan, picture.key, out);
  } else {
    renderer.run(part_of(picture.wanted.rect), picture.plan, picture.key, out);
  }
  times.decode_ns += nanoseconds(begin, decoded);
  times.transform_ns += nanoseconds(decoded, Clock::now());
}

ViewMatrix view_matrix(const CropPlan& plan) {
  const ImageMap& map = plan.map;
  return {map.scale_x, 0, map.offset_x, 0, map.scale_y, map.offset_y, 0, 0, 1};
}

}  // namespace ffkit
