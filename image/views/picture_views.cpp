#include "views/picture_views.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include <ffkit/image/image_codec.h>

#include "codec/decode_scale.h"
#include "codec/jpeg_decoder.h"
#include "transform/crop_plan.h"
#include "views/view_renderer.h"

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

struct PictureViews::Impl {
  struct Picture {
    size_t view = 0;
    SampleKey key;
    CropPlan plan;
    bool is_wide = false;
    WantedPixels wanted;
  };
  // What is decoded, of 8 or 16 bits.
  struct Decoded {
    bool is_wide = false;
    Rect rect;  // of the picture
    ImageDecoder::Region region;
    WideRgbView wide;
  };

  void decode(bool is_wide);
  ImageDecoder::Region part_of(const Rect& wanted) const;
  WideRgbView wide_part_of(const Rect& wanted) const;

  std::vector<ImageTransform> transforms;  // of the views
  std::vector<ViewRenderer> renderers;     // of the views
  std::vector<size_t> last_wanted;         // by view: the picture that its renderer was asked for
  ImageDecoder decoder;
  std::span<const std::byte> encoded;
  ImageInfo info;
  bool has_begun = false;  // the decoder has the header, and no pixels yet
  std::vector<Picture> pictures;
  std::optional<Decoded> decoded;
};

PictureViews::PictureViews(const std::vector<ImageOptions>& views)
    : impl_(std::make_unique<Impl>()) {
  for (const ImageOptions& options : views) {
    impl_->renderers.emplace_back(options);
    impl_->transforms.push_back(options.transform);
  }
}
PictureViews::~PictureViews() = default;
PictureViews::PictureViews(PictureViews&&) noexcept = default;
PictureViews& PictureViews::operator=(PictureViews&&) noexcept = default;

const ImageInfo& PictureViews::info() const {
  return impl_->info;
}

const CropPlan& PictureViews::plan(size_t i) const {
  return impl_->pictures[i].plan;
}

ViewMatrix PictureViews::matrix(size_t i) const {
  const ImageMap& map = plan(i).map;
  return {map.scale_x, 0, map.offset_x, 0, map.scale_y, map.offset_y, 0, 0, 1};
}

void PictureViews::begin(std::span<const std::byte> encoded, std::span<const size_t> views,
                         std::span<const SampleKey> keys, PipelineTimes& times) {
  const auto begun = Clock::now();
  Impl& impl = *impl_;
  impl.decoded.reset();
  impl.has_begun = false;
  impl.encoded = encoded;
  impl.info = impl.decoder.read_info(encoded);
  impl.has_begun = true;
  impl.pictures.resize(views.size());
  impl.last_wanted.assign(impl.renderers.size(), std::numeric_limits<size_t>::max());
  for (size_t i = 0; i < views.size(); ++i) {
    Impl::Picture& picture = impl.pictures[i];
    ViewRenderer& renderer = impl.renderers[views[i]];
    picture.view = views[i];
    picture.key = keys[i];
    picture.plan = plan_crop(impl.transforms[views[i]], impl.info.width, impl.info.height, keys[i]);
    picture.is_wide = renderer.is_wide(impl.info);
    picture.wanted = renderer.wanted(picture.plan, picture.is_wide);
    impl.last_wanted[views[i]] = i;
  }
  times.decode_ns += nanoseconds(begun, Clock::now());
}

// What all pictures of 8 bits, or all of 16, need together.
void PictureViews::Impl::decode(bool is_wide) {
  if (!has_begun) decoder.read_info(encoded);
  has_begun = false;
  decoded.reset();
  std::optional<Rect> all;
  int denominator = 8;
  for (const Picture& picture : pictures) {
    if (picture.is_wide != is_wide) continue;
    const WantedPixels& wanted = picture.wanted;
    all = all ? smallest_around(*all, wanted.rect) : wanted.rect;
    denominator =
        std::min(denominator, choose_denominator(wanted.rect, wanted.min_width, wanted.min_height));
  }
  Decoded made{.is_wide = is_wide, .rect = *all};
  if (is_wide) {
    made.wide = decoder.read_wide_region(*all);
  } else if (denominator == 1) {
    made.region = decoder.read_region(*all, 0, 0);
  } else {
    made.region = decoder.read_region(*all, all->width / denominator, all->height / denominator);
  }
  decoded = made;
}

// As if the decoder had been asked for `wanted` alone, at the fraction that was decoded.
ImageDecoder::Region PictureViews::Impl::part_of(const Rect& wanted) const {
  const ImageDecoder::Region& all = decoded->region;
  const Rect& rect = decoded->rect;
  const double scale = rect.width / all.width;  // 1, 2, 4 or 8, exactly
  const auto denominator = static_cast<int>(scale);
  const int left = rect.x / denominator - all.wanted.x;  // of the scaled picture, that pixels begin
  const int top = rect.y / denominator - all.wanted.y;
  const int x = wanted.x / denominator;
  const int y = wanted.y / denominator;
  return {.pixels = all.pixels,
          .wanted = {x - left, y - top, scaled_jpeg_size(wanted.x + wanted.width, denominator) - x,
                     scaled_jpeg_size(wanted.y + wanted.height, denominator) - y},
          .x = wanted.x / scale - left,
          .y = wanted.y / scale - top,
          .width = wanted.width / scale,
          .height = wanted.height / scale};
}

WideRgbView PictureViews::Impl::wide_part_of(const Rect& wanted) const {
  const WideRgbView& all = decoded->wide;
  const Rect& rect = decoded->rect;
  return {all.data + (wanted.y - rect.y) * all.stride + ptrdiff_t{3} * (wanted.x - rect.x),
          wanted.width, wanted.height, all.stride};
}

void PictureViews::write(size_t i, void* out, PipelineTimes& times) {
  const auto begin = Clock::now();
  Impl& impl = *impl_;
  const Impl::Picture& picture = impl.pictures[i];
  if (!impl.decoded || impl.decoded->is_wide != picture.is_wide) impl.decode(picture.is_wide);
  const auto end = Clock::now();
  ViewRenderer& renderer = impl.renderers[picture.view];
  if (impl.last_wanted[picture.view] != i) {
    renderer.wanted(picture.plan, picture.is_wide);
    impl.last_wanted[picture.view] = i;
  }
  if (picture.is_wide) {
    renderer.run_wide(impl.wide_part_of(picture.wanted.rect), picture.plan, picture.key, out);
  } else {
    renderer.run(impl.part_of(picture.wanted.rect), picture.plan, picture.key, out);
  }
  times.decode_ns += nanoseconds(begin, end);
  times.transform_ns += nanoseconds(end, Clock::now());
}

}  // namespace ffkit
