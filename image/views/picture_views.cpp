#include "views/picture_views.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <variant>

#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "codec/jpeg_decoder.h"
#include "moves/moves.h"
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
    std::span<const Move> own_moves() const { return std::span(moves).first(num_own); }
    ImageSize size() const { return moves.back().size; }

    SampleKey key;
    Moves moves;
    size_t num_own = 0;  // of its moves; the others are those of its augmentations
    Moves padded_moves;  // with PadToLargest: all of them, and its own
    bool is_padded = false;
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

  void read_header(std::span<const std::byte> bytes, size_t num_pictures);
  void ask_renderer(size_t i);
  void decode(bool is_wide);
  ImageDecoder::Region part_of(const Rect& wanted) const;
  WideRgbView wide_part_of(const Rect& wanted) const;

  // By view:
  std::vector<ImageTransform> transforms;
  std::vector<AugmentationMoves> augmentation_moves;
  std::vector<ViewRenderer> renderers;
  std::vector<size_t> last_wanted;  // the picture that its renderer was asked for
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
    impl_->augmentation_moves.emplace_back(options.augmentations);
    impl_->transforms.push_back(options.transform);
  }
}
PictureViews::~PictureViews() = default;
PictureViews::PictureViews(PictureViews&&) noexcept = default;
PictureViews& PictureViews::operator=(PictureViews&&) noexcept = default;

const ImageInfo& PictureViews::info() const {
  return impl_->info;
}

const Moves& PictureViews::moves(size_t i) const {
  const Impl::Picture& picture = impl_->pictures[i];
  return picture.is_padded ? picture.padded_moves : picture.moves;
}

ViewMatrix PictureViews::matrix(size_t i) const {
  return matrix_of(moves(i));
}

ImageSize PictureViews::picture_size(size_t i) const {
  return impl_->pictures[i].size();
}

bool PictureViews::mixes_pixels(size_t i) const {
  return std::ranges::any_of(impl_->pictures[i].own_moves(), [](const Move& move) {
    if (const auto* plan = std::get_if<CropPlan>(&move.what)) return plan->resizes();
    const auto* warp = std::get_if<Warp>(&move.what);
    return warp != nullptr && warp->filter != WarpFilter::nearest;
  });
}

PictureViews::MovedBox PictureViews::move_box(size_t i, const BoxEdges& box) const {
  MovedBox moved{.edges = box};
  const Moves& all = moves(i);
  for (const Move& move : all) {
    const BoxEdges whole = map_box(move.matrix(), moved.edges);
    moved.edges = &move == &all.back() || cuts_boxes(move) ? clipped(whole, move.size) : whole;
    const double left = area_of(moved.edges);
    const BoxEdges canvas = {0, 0, static_cast<double>(move.size.width),
                             static_cast<double>(move.size.height)};
    if (move.drops_boxes_outside && !is_centre_within(whole, canvas)) moved.is_left = false;
    if (left <= 0) moved.is_left = false;
    moved.visible *= left / area_of(whole);
    if (!moved.is_left) break;
  }
  return moved;
}

PictureViews::MovedPoint PictureViews::move_point(size_t i, double x, double y) const {
  MovedPoint point{x, y};
  const Moves& all = moves(i);
  for (const Move& move : all) {
    const auto [u, v] = map_point(move.matrix(), point.x, point.y);
    const bool is_cut = &move == &all.back() || cuts_boxes(move);
    const bool is_inside =
        !is_cut || (u >= 0 && v >= 0 && u <= static_cast<double>(move.size.width) &&
                    v <= static_cast<double>(move.size.height));
    point = {u, v, point.is_inside && is_inside};
  }
  return point;
}

void PictureViews::begin(std::span<const std::byte> encoded, std::span<const size_t> views,
                         std::span<const SampleKey> keys, PipelineTimes& times,
                         const Boxes& boxes) {
  const auto begun = Clock::now();
  Impl& impl = *impl_;
  impl.read_header(encoded, views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    Impl::Picture& picture = impl.pictures[i];
    picture.view = views[i];
    picture.key = keys[i];
    const ImageTransform& transform = impl.transforms[picture.view];
    const auto of_picture =
        boxes && needs_boxes(transform) ? boxes(picture.view, impl.info) : std::vector<BoxEdges>{};
    plan_moves(transform, impl.info.width, impl.info.height, keys[i], of_picture, picture.moves);
    picture.num_own = picture.moves.size();
    impl.augmentation_moves[picture.view].add(keys[i], picture.moves);
    picture.is_padded = padding_of(transform) != nullptr;
    if (picture.is_padded) {
      picture.padded_moves = picture.moves;
      add_padding(image_size(transform), picture.padded_moves);
    }
    impl.ask_renderer(i);
  }
  times.decode_ns += nanoseconds(begun, Clock::now());
}

void PictureViews::follow(std::span<const std::byte> encoded, const PictureViews& leader,
                          size_t first, std::span<const SampleKey> keys, PipelineTimes& times) {
  const auto begun = Clock::now();
  Impl& impl = *impl_;
  impl.read_header(encoded, keys.size());
  require_size_of_picture("further picture", impl.info.width, impl.info.height, leader.info());
  for (size_t i = 0; i < keys.size(); ++i) {
    Impl::Picture& picture = impl.pictures[i];
    picture.view = 0;
    picture.key = keys[i];
    picture.moves = leader.impl_->pictures[first + i].moves;
    picture.num_own = picture.moves.size();
    picture.is_padded = false;  // nothing follows it
    impl.ask_renderer(i);
  }
  times.decode_ns += nanoseconds(begun, Clock::now());
}

void require_size_of_picture(const char* what, int width, int height, const ImageInfo& picture) {
  if (width == picture.width && height == picture.height) return;
  throw error_of(ErrorCode::corrupt,
                 "the {} has {} x {} pixels, but its picture has {} x {}; expected equal sizes",
                 what, width, height, picture.width, picture.height);
}

void PictureViews::Impl::read_header(std::span<const std::byte> bytes, size_t num_pictures) {
  decoded.reset();
  has_begun = false;
  encoded = bytes;
  info = decoder.read_info(bytes);
  has_begun = true;
  pictures.resize(num_pictures);
  last_wanted.assign(renderers.size(), std::numeric_limits<size_t>::max());
}

void PictureViews::Impl::ask_renderer(size_t i) {
  Picture& picture = pictures[i];
  ViewRenderer& renderer = renderers[picture.view];
  picture.is_wide = renderer.is_wide(info);
  picture.wanted = renderer.wanted(picture.own_moves(), picture.is_wide);
  last_wanted[picture.view] = i;
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
    renderer.wanted(picture.own_moves(), picture.is_wide);
    impl.last_wanted[picture.view] = i;
  }
  if (picture.is_wide) {
    renderer.run_wide(impl.wide_part_of(picture.wanted.rect), picture.own_moves(), picture.key,
                      out);
  } else {
    renderer.run(impl.part_of(picture.wanted.rect), picture.own_moves(), picture.key, out);
  }
  renderer.clear_padding(picture_size(i), out);
  times.decode_ns += nanoseconds(begin, end);
  times.transform_ns += nanoseconds(end, Clock::now());
}

}  // namespace ffkit
