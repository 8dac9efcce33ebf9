#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <ffkit/format/dtype_visitor.h>

#include "base/fnv.h"
#include "base/make_error.h"
#include "base/mix64.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

BoxEdges edges_of(std::span<const double> box, BoxFormat format) {
  switch (format) {
    case BoxFormat::xywh:
      return {box[0], box[1], box[0] + box[2], box[1] + box[3]};
    case BoxFormat::cxcywh:
      return {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
    default:
      return {box[0], box[1], box[2], box[3]};
  }
}

}  // namespace

std::vector<double> numbers_of(const TensorView& tensor) {
  return visit_dtype(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    std::vector<double> numbers(tensor.data.size() / sizeof(T));
    for (size_t i = 0; i < numbers.size(); ++i) {
      T number;
      std::memcpy(&number, tensor.data.data() + i * sizeof(T), sizeof(T));
      numbers[i] = static_cast<double>(number);
    }
    return numbers;
  });
}

std::vector<BoxEdges> boxes_of(const BoxesField& options, const RecordView& record, size_t at,
                               const ImageInfo& picture) {
  if (options.zeros_where_null && record.is_null(at)) return {};
  const TensorView tensor = record.tensor(at);
  if (tensor.shape.size() != 2 || tensor.shape[1] != 4) {
    throw error_of(ErrorCode::corrupt, "field '{}' has shape [{}]; boxes have [n, 4]",
                   options.field, fmt::join(tensor.shape, ", "));
  }
  const std::vector<double> numbers = numbers_of(tensor);
  std::vector<BoxEdges> boxes;
  boxes.reserve(numbers.size() / 4);
  for (int64_t i = 0; i < tensor.shape[0]; ++i) {
    const std::span<const double> box(&numbers[4 * static_cast<size_t>(i)], 4);
    BoxEdges edges = edges_of(box, options.stored.format);
    if (options.stored.is_relative) {
      for (size_t e = 0; e < 4; ++e) edges[e] *= e % 2 == 0 ? picture.width : picture.height;
    }
    boxes.push_back(edges);
  }
  return boxes;
}

BoxesInView keep_boxes(const BoxesField& options, const RecordView& record, size_t at,
                       const PictureViews& pictures, size_t i) {
  const std::vector<BoxEdges> boxes = boxes_of(options, record, at, pictures.info());
  BoxesInView kept{.num_boxes = std::ssize(boxes)};
  for (int64_t box = 0; box < kept.num_boxes; ++box) {
    if (!has_area(boxes[static_cast<size_t>(box)])) {
      kept.without_area.push_back(box);
      continue;
    }
    const auto moved = pictures.move_box(i, boxes[static_cast<size_t>(box)]);
    const BoxEdges& edges = moved.edges;
    const double shorter = std::min(edges[2] - edges[0], edges[3] - edges[1]);
    if (!moved.is_left || shorter < options.min_size || moved.visible < options.min_visible) {
      continue;
    }
    kept.indices.push_back(box);
    kept.edges.push_back(edges);
  }
  return kept;
}

std::array<float, 4> coordinates_of(const BoxEdges& edges, const BoxCoordinates& coordinates,
                                    ImageSize size) {
  BoxEdges box = edges;
  if (coordinates.is_relative) {
    for (size_t e = 0; e < 4; ++e) {
      box[e] /= static_cast<double>(e % 2 == 0 ? size.width : size.height);
    }
  }
  const double width = box[2] - box[0];
  const double height = box[3] - box[1];
  if (coordinates.format == BoxFormat::xywh) box = {box[0], box[1], width, height};
  if (coordinates.format == BoxFormat::cxcywh) {
    box = {box[0] + width / 2, box[1] + height / 2, width, height};
  }
  return {static_cast<float>(box[0]), static_cast<float>(box[1]), static_cast<float>(box[2]),
          static_cast<float>(box[3])};
}

namespace {

std::vector<ImageOptions> options_of(const std::vector<View>& views) {
  std::vector<ImageOptions> all;
  all.reserve(views.size());
  for (const View& view : views) all.push_back(view.image);
  return all;
}

}  // namespace

SampleKey view_key(const SampleKey& key, std::string_view view, int64_t copy) {
  SampleKey own = key;
  if (!view.empty()) own.seed = mix64(own.seed, fnv1a64(std::as_bytes(std::span(view))));
  if (copy != 0) own.seed = mix64(own.seed, static_cast<uint64_t>(copy));
  return own;
}

ViewSet::ViewSet(size_t field, std::vector<View> views, std::vector<ViewBoxes> boxes,
                 bool is_default)
    : field_(field), views_(std::move(views)), boxes_(std::move(boxes)), is_default_(is_default) {
  constexpr int64_t kMaxCopies = 1024;
  for (size_t i = 0; i < views_.size(); ++i) {
    const View& view = views_[i];
    validate(view.image);
    if (view.copies < 0 || view.copies > kMaxCopies) {
      throw error_of(ErrorCode::invalid_argument, "view '{}' has {} copies; expected 0 to {}",
                     view.name, view.copies, kMaxCopies);
    }
    if (needs_boxes(view.image.transform) &&
        std::ranges::find(boxes_, i, &ViewBoxes::view) == boxes_.end()) {
      throw error_of(ErrorCode::invalid_argument,
                     "the view '{}' has a RandomIoUCrop, which needs boxes; give the batch a "
                     "BoxesField that follows the view",
                     view.name);
    }
    first_picture_.push_back(view_of_.size());
    view_of_.insert(view_of_.end(), num_pictures(i), i);
  }
}

std::vector<BoxEdges> ViewSet::boxes_of_view(size_t view, const RecordView& record,
                                             const ImageInfo& picture) const {
  std::vector<BoxEdges> all;
  for (const ViewBoxes& boxes : boxes_) {
    if (boxes.view != view) continue;
    const std::vector<BoxEdges> some = boxes_of(boxes.field, record, boxes.at, picture);
    std::ranges::copy_if(some, std::back_inserter(all), has_area);
  }
  return all;
}

size_t ViewSet::num_pictures(size_t view) const {
  return static_cast<size_t>(std::max<int64_t>(views_[view].copies, 1));
}

void ViewSet::make_keys(const SampleKey& key, std::vector<SampleKey>& keys) const {
  keys.resize(num_pictures());
  for (size_t i = 0; i < keys.size(); ++i) {
    const size_t view = view_of_[i];
    const std::string_view name = is_default_ ? std::string_view() : views_[view].name;
    keys[i] = view_key(key, name, static_cast<int64_t>(i - first_picture_[view]));
  }
}

std::vector<int64_t> ViewSet::with_copies(size_t view, std::vector<int64_t> shape) const {
  if (views_[view].copies > 0) shape.insert(shape.begin(), views_[view].copies);
  return shape;
}

bool can_be_mask(DType dtype) {
  return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::i32;
}

MaskView mask_of_tensor(const TensorView& tensor, std::vector<std::byte>& memory) {
  if (tensor.shape.size() != 2) {
    throw error_of(ErrorCode::corrupt, "the mask has {} dimensions; expected 2, height and width",
                   tensor.shape.size());
  }
  memory.assign(tensor.data.begin(), tensor.data.end());
  return {.data = memory.data(),
          .dtype = tensor.dtype,
          .width = static_cast<int>(tensor.shape[1]),
          .height = static_cast<int>(tensor.shape[0]),
          .stride = tensor.shape[1]};
}

SampleViews::SampleViews(const ViewSet& set) : set_(set), pictures_(options_of(set.views())) {}

void SampleViews::begin(const RecordView& record, const SampleKey& key, int64_t record_index,
                        PipelineTimes& times) {
  const std::span<const std::byte> encoded = record.bytes(set_.field());
  if (has_begun_ && record_index >= 0 && record_index == record_index_ && key == key_ &&
      encoded.data() == data_) {
    return;
  }
  has_begun_ = false;
  for (DecodedMask& mask : masks_) mask.is_decoded = false;
  set_.make_keys(key, keys_);
  const auto boxes = [&](size_t view, const ImageInfo& info) {
    return set_.boxes_of_view(view, record, info);
  };
  pictures_.begin(encoded, set_.view_of(), keys_, times, boxes);
  record_index_ = record_index;
  key_ = key;
  data_ = encoded.data();
  has_begun_ = true;
}

MaskView SampleViews::mask(const RecordView& record, size_t field, bool is_tensor,
                           MaskNumbers numbers) {
  if (is_tensor) {
    const MaskView view = mask_of_tensor(record.tensor(field), tensor_);
    require_size_of_picture("mask", view.width, view.height, pictures_.info());
    return view;
  }
  auto found = std::ranges::find_if(masks_, [&](const DecodedMask& mask) {
    return mask.field == field && mask.numbers == numbers;
  });
  if (found == masks_.end()) {
    found = masks_.insert(
        found, {.field = field, .numbers = numbers, .decoder = std::make_unique<MaskDecoder>()});
  }
  if (!found->is_decoded) {
    found->view = found->decoder->decode(record.bytes(field), numbers);
    require_size_of_picture("mask", found->view.width, found->view.height, pictures_.info());
    found->is_decoded = true;
  }
  return found->view;
}

SampleViews& ViewScratch::views() {
  if (views_ == nullptr) views_ = std::make_shared<SampleViews>(*set_);
  return *views_;
}

SampleViews& ViewScratch::begin(const RecordView& record, const SampleKey& key) {
  PipelineTimes times;
  SampleViews& sample = views();
  sample.begin(record, key, record_index, times);
  return sample;
}

void ViewScratch::share(ViewScratch& other) {
  if (other.set_ != set_) return;
  other.views();
  views_ = other.views_;
}

}  // namespace ffkit
