#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/make_error.h"
#include "fields/decoder_base.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

// What all of them have: rows for the boxes that stay in a view, or in each copy of it.
class OfBoxes : public RowListsDecoder {
 public:
  OfBoxes(const Schema& schema, ViewSetPtr set, size_t view, BoxesField boxes)
      : set_(std::move(set)),
        view_(view),
        boxes_(std::move(boxes)),
        boxes_at_(require_tensor(schema, boxes_.field)) {
    const Field& field = schema.fields[boxes_at_];
    const DType dtype = field.dtype;
    if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::i32 && dtype != DType::i64) {
      refuse_field(field, "boxes of f32, f64, i32 or i64");
    }
    check_between("min_size", boxes_.min_size, 0, 1e6);
    check_between("min_visible", boxes_.min_visible, 0, 1);
    check_between("max_boxes", static_cast<double>(boxes_.max_boxes), 1, 1 << 16);
  }
  int64_t copies() const override { return set_->views()[view_].copies; }
  int64_t max_rows() const override { return boxes_.max_boxes; }
  RowLayout layout() const override { return boxes_.layout; }
  std::optional<std::vector<size_t>> inputs() const override { return set_->inputs(boxes_at_); }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<ViewScratch>(set_);
  }
  int64_t decode_list(const RecordView& record, const SampleKey& key, int64_t list,
                      Scratch* scratch, void* out) const override {
    const PictureViews& pictures =
        static_cast<ViewScratch&>(*scratch).begin(record, key).pictures();
    const size_t picture = set_->first_picture(view_) + static_cast<size_t>(list);
    const BoxesInView kept = keep_boxes(boxes_, record, boxes_at_, pictures, picture);
    require_room(kept, list);
    if (kept.num_boxes == 0 && record.is_null(boxes_at_)) return 0;
    if (has_null_rows(record)) {
      std::memset(out, 0, kept.indices.size() * array_bytes(dtype(), shape()));
    } else {
      write_rows({record, kept, pictures, picture}, *scratch, out);
    }
    return std::ssize(kept.indices);
  }

 protected:
  // The boxes of one picture of the view.
  struct BoxesOfPicture {
    const RecordView& record;
    const BoxesInView& kept;
    const PictureViews& pictures;
    size_t picture;  // its number among the pictures
  };
  virtual void write_rows(const BoxesOfPicture& of, Scratch& scratch, void* out) const = 0;
  // Whether all rows are zeros, because a field that may be null is.
  virtual bool has_null_rows(const RecordView& /*record*/) const { return false; }
  const ViewSetPtr& set() const { return set_; }
  size_t first_picture() const { return set_->first_picture(view_); }
  const BoxesField& boxes() const { return boxes_; }

  // Throws unless there is one entry for each box.
  void require_items(const ListView& items, const std::string& field,
                     const BoxesInView& kept) const {
    if (std::ssize(items) == kept.num_boxes) return;
    throw error_of(
        ErrorCode::corrupt,
        "field '{}' has {} items, but field '{}' has {} boxes; both must have the same length",
        field, items.size(), boxes_.field, kept.num_boxes);
  }
  void require_entries(const TensorView& tensor, const std::string& field,
                       const BoxesInView& kept) const {
    const int64_t num_entries = tensor.shape.empty() ? 0 : tensor.shape[0];
    if (!tensor.shape.empty() && num_entries == kept.num_boxes) return;
    throw error_of(ErrorCode::corrupt,
                   "field '{}' has shape [{}], but field '{}' has {} boxes; both must have the "
                   "same length",
                   field, fmt::join(tensor.shape, ", "), boxes_.field, kept.num_boxes);
  }

 private:
  // Throws Error(unsupported) for more boxes than max_boxes.
  void require_room(const BoxesInView& kept, int64_t copy) const {
    if (std::ssize(kept.indices) <= boxes_.max_boxes) return;
    throw error_of(ErrorCode::unsupported,
                   "field '{}' has {} boxes in {}the view '{}', but max_boxes is {}; give a larger "
                   "max_boxes",
                   boxes_.field, kept.indices.size(),
                   copies() == 0 ? "" : fmt::format("copy {} of ", copy), set_->views()[view_].name,
                   boxes_.max_boxes);
  }

  ViewSetPtr set_;
  size_t view_;
  BoxesField boxes_;
  size_t boxes_at_;
};

// What those of a further field have, `Described`, which has a row for each box.
template <typename Described>
class OfFurtherField : public OfBoxes {
 public:
  OfFurtherField(const Schema& schema, ViewSetPtr set, size_t view, const BoxesField& boxes,
                 Described field)
      : OfBoxes(schema, std::move(set), view, boxes),
        field_(std::move(field)),
        at_(schema.require(field_.field)) {}
  std::optional<std::vector<size_t>> inputs() const override {
    return with_input(OfBoxes::inputs(), at_);
  }

 protected:
  bool has_null_rows(const RecordView& record) const override {
    return field_.zeros_where_null && record.is_null(at_);
  }

  const Described field_;
  const size_t at_;
};

class BoxesDecoder final : public OfBoxes {
 public:
  using OfBoxes::OfBoxes;
  DType dtype() const override { return DType::f32; }
  std::vector<int64_t> shape() const override { return {4}; }

 protected:
  void write_rows(const BoxesOfPicture& of, Scratch& scratch, void* out) const override {
    count_without_area(of, scratch.work);
    const ImageSize size = of.pictures.picture_size(of.picture);
    auto* to = static_cast<std::byte*>(out);
    for (const BoxEdges& edges : of.kept.edges) {
      const std::array<float, 4> box = coordinates_of(edges, boxes().output, size);
      std::memcpy(to, box.data(), sizeof(box));
      to += sizeof(box);
    }
  }

 private:
  // Once for all copies.
  void count_without_area(const BoxesOfPicture& of, Work& work) const {
    if (of.kept.without_area.empty() || of.picture != first_picture()) return;
    work.num_items_left_out += std::ssize(of.kept.without_area);
    work.left_out = fmt::format("box {} of field '{}' has no area",
                                fmt::join(of.kept.without_area, ", "), boxes().field);
  }
};

class BoxRowsDecoder final : public OfFurtherField<BoxRowsField> {
 public:
  BoxRowsDecoder(const Schema& schema, ViewSetPtr set, size_t view, const BoxesField& boxes,
                 const BoxRowsField& field)
      : OfFurtherField(schema, std::move(set), view, boxes, field),
        dtype_(schema.fields[require_tensor(schema, field.field)].dtype),
        row_bytes_(size_of(dtype_)) {
    for (const int64_t extent : field_.shape) {
      check_between(fmt::format("a dimension of the rows of '{}'", field_.field),
                    static_cast<double>(extent), 1, 1 << 16);
      row_bytes_ *= static_cast<size_t>(extent);
    }
  }
  DType dtype() const override { return dtype_; }
  std::vector<int64_t> shape() const override { return field_.shape; }

 protected:
  void write_rows(const BoxesOfPicture& of, Scratch& /*scratch*/, void* out) const override {
    const TensorView tensor = of.record.tensor(at_);
    require_entries(tensor, field_.field, of.kept);
    const std::vector<int64_t> shape(tensor.shape.begin() + 1, tensor.shape.end());
    if (shape != field_.shape) {
      throw error_of(ErrorCode::corrupt,
                     "field '{}' has rows of shape [{}], but the batch takes rows of shape [{}]",
                     field_.field, fmt::join(shape, ", "), fmt::join(field_.shape, ", "));
    }
    auto* to = static_cast<std::byte*>(out);
    for (const int64_t i : of.kept.indices) {
      std::memcpy(to, tensor.data.data() + static_cast<size_t>(i) * row_bytes_, row_bytes_);
      to += row_bytes_;
    }
  }

 private:
  DType dtype_;
  size_t row_bytes_;
};

class PointsDecoder final : public OfFurtherField<PointsField> {
 public:
  PointsDecoder(const Schema& schema, ViewSetPtr set, size_t view, const BoxesField& boxes,
                const PointsField& field)
      : OfFurtherField(schema, std::move(set), view, boxes, field) {
    const Field& description = schema.fields[require_tensor(schema, field.field)];
    if (description.dtype != DType::f32 && description.dtype != DType::f64) {
      refuse_field(description, "points of f32 or f64");
    }
    check_between("num_points", static_cast<double>(field_.num_points), 1, 1 << 16);
    const auto last = static_cast<double>(field_.num_points - 1);
    for (const auto& [a, b] : field_.mirrored) {
      check_between("the number of a mirrored point", static_cast<double>(a), 0, last);
      check_between("the number of a mirrored point", static_cast<double>(b), 0, last);
    }
  }
  DType dtype() const override { return DType::f32; }
  std::vector<int64_t> shape() const override { return {field_.num_points, 3}; }

 protected:
  void write_rows(const BoxesOfPicture& of, Scratch& /*scratch*/, void* out) const override {
    const TensorView tensor = of.record.tensor(at_);
    require_entries(tensor, field_.field, of.kept);
    const bool is_shape = tensor.shape.size() == 3 && tensor.shape[1] == field_.num_points &&
                          (tensor.shape[2] == 2 || tensor.shape[2] == 3);
    if (!is_shape) {
      throw error_of(ErrorCode::corrupt,
                     "field '{}' has shape [{}]; expected [n, {}, 3], or [n, {}, 2]", field_.field,
                     fmt::join(tensor.shape, ", "), field_.num_points, field_.num_points);
    }
    const std::vector<double> numbers = numbers_of(tensor);
    const auto extent = static_cast<size_t>(tensor.shape[2]);
    const auto num_points = static_cast<size_t>(field_.num_points);
    // A mirrored view turns the order of the axes round.
    const ViewMatrix matrix = of.pictures.matrix(of.picture);
    const bool is_mirrored = matrix[0] * matrix[4] - matrix[1] * matrix[3] < 0;
    auto* to = static_cast<std::byte*>(out);
    std::vector<std::array<float, 3>> row(num_points);
    for (const int64_t i : of.kept.indices) {
      const double* from = &numbers[static_cast<size_t>(i) * num_points * extent];
      for (size_t k = 0; k < num_points; ++k, from += extent) {
        row[k] = mapped(from[0], from[1], extent == 3 ? from[2] : 2, of);
      }
      if (is_mirrored) {
        for (const auto& [a, b] : field_.mirrored) {
          std::swap(row[static_cast<size_t>(a)], row[static_cast<size_t>(b)]);
        }
      }
      std::memcpy(to, row.data(), num_points * sizeof(row[0]));
      to += num_points * sizeof(row[0]);
    }
  }

 private:
  std::array<float, 3> mapped(double x, double y, double visibility,
                              const BoxesOfPicture& of) const {
    if (visibility != 0) {
      const double centre = field_.counts == PointCount::pixels ? 0.5 : 0;
      const auto moved = of.pictures.move_point(of.picture, x + centre, y + centre);
      x = moved.x - centre;
      y = moved.y - centre;
      if (!moved.is_inside) visibility = 0;
    }
    return {static_cast<float>(x), static_cast<float>(y), static_cast<float>(visibility)};
  }
};

class InstanceMasksDecoder final : public OfFurtherField<InstanceMasksField> {
 public:
  InstanceMasksDecoder(const Schema& schema, const ViewSetPtr& set, size_t view,
                       const BoxesField& boxes, const InstanceMasksField& field)
      : OfFurtherField(schema, set, view, boxes, field), size_(set->size_of(view)) {
    const Field& description = schema.fields[at_];
    if (description.type == FieldType::list && description.item == FieldType::tensor &&
        description.dtype == DType::u32) {
      return;
    }
    refuse_field(
        description,
        "a list of tensors of u32 with the runs of pixels of each box, as ffconvert coco makes "
        "from segmentations");
  }
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {size_.height, size_.width}; }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<ViewMaskScratch>(set(), MaskOptions{.fill = 0});
  }

 protected:
  void write_rows(const BoxesOfPicture& of, Scratch& scratch, void* out) const override {
    auto& own = static_cast<ViewMaskScratch&>(scratch);
    const ListView masks = of.record.list(at_);
    require_items(masks, field_.field, of.kept);
    const ImageInfo& picture_info = of.pictures.info();
    const auto num_pixels =
        static_cast<size_t>(picture_info.width) * static_cast<size_t>(picture_info.height);
    auto* to = static_cast<uint8_t*>(out);
    for (const int64_t i : of.kept.indices) {
      own.pixels.assign(num_pixels, 0);
      fill(masks.tensor(static_cast<size_t>(i)), i, own.pixels);
      own.scaler.run({.data = own.pixels.data(),
                      .dtype = DType::u8,
                      .width = picture_info.width,
                      .height = picture_info.height,
                      .stride = picture_info.width},
                     of.pictures.moves(of.picture), to);
      to += size_.height * size_.width;
    }
  }

 private:
  void fill(const TensorView& runs, int64_t box, std::vector<uint8_t>& pixels) const {
    const auto refuse_mask = [&](const std::string& problem) {
      throw error_of(ErrorCode::corrupt, "mask {} of field '{}' {}", box, field_.field, problem);
    };
    if (runs.shape.size() != 2 || runs.shape[1] != 2) {
      refuse_mask(fmt::format("has shape [{}]; expected [n, 2]", fmt::join(runs.shape, ", ")));
    }
    uint32_t before = 0;
    for (int64_t k = 0; k < runs.shape[0]; ++k) {
      std::array<uint32_t, 2> run;
      std::memcpy(run.data(), runs.data.data() + static_cast<size_t>(k) * sizeof(run), sizeof(run));
      const auto [begin, end] = run;
      if (begin < before || end <= begin || end > pixels.size()) {
        refuse_mask(
            fmt::format("has a run from {} to {}; runs must ascend, and the picture has {} pixels",
                        begin, end, pixels.size()));
      }
      std::fill(pixels.begin() + begin, pixels.begin() + end, uint8_t{1});
      before = end;
    }
  }

  ImageSize size_;
};

}  // namespace

std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const BoxesField& boxes) {
  return std::make_shared<BoxesDecoder>(schema, std::move(set), view, boxes);
}

std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const BoxRowsField& field,
                                                      const BoxesField& boxes) {
  return std::make_shared<BoxRowsDecoder>(schema, std::move(set), view, boxes, field);
}

std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const PointsField& field,
                                                      const BoxesField& boxes) {
  return std::make_shared<PointsDecoder>(schema, std::move(set), view, boxes, field);
}

std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const InstanceMasksField& field,
                                                      const BoxesField& boxes) {
  return std::make_shared<InstanceMasksDecoder>(schema, set, view, boxes, field);
}

}  // namespace ffkit
