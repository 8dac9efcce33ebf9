#include <cstring>
#include <utility>

#include "base/make_error.h"
#include "fields/decoder_base.h"
#include "image/views/mask_scaler.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

// What all of them have: one array of a view.
class OfView : public FieldDecoder {
 public:
  OfView(const ViewSetPtr& set, size_t view, DType dtype, const std::vector<int64_t>& shape)
      : set_(set),
        view_(view),
        dtype_(dtype),
        shape_(set_->with_copies(view, shape)),
        bytes_per_copy_(array_bytes(dtype, shape)) {}
  DType dtype() const override { return dtype_; }
  std::vector<int64_t> shape() const override { return shape_; }
  std::optional<std::vector<size_t>> inputs() const override { return set_->inputs(); }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<ViewScratch>(set_);
  }

 protected:
  const ViewSetPtr& set() const { return set_; }
  size_t view() const { return view_; }
  // Calls write(number of the picture in the set, its place) for each copy.
  template <typename Write>
  void for_copies(void* out, const Write& write) const {
    auto* to = static_cast<std::byte*>(out);
    const size_t first = set_->first_picture(view_);
    for (size_t i = 0; i < set_->num_pictures(view_); ++i, to += bytes_per_copy_) {
      write(first + i, to);
    }
  }

 private:
  ViewSetPtr set_;
  size_t view_;
  DType dtype_;
  std::vector<int64_t> shape_;
  size_t bytes_per_copy_;
};

class ViewDecoder final : public OfView {
 public:
  ViewDecoder(const ViewSetPtr& set, size_t view)
      : OfView(set, view, set->views()[view].image.output.dtype,
               picture_shape(set->views()[view].image.output, set->size_of(view))) {}

  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    SampleViews& sample = static_cast<ViewScratch&>(*scratch).begin(record, key);
    PipelineTimes times;
    for_copies(out, [&](size_t i, void* to) { sample.pictures().write(i, to, times); });
    scratch->work.transform_ns += times.transform_ns;
  }
};

class FurtherPictureDecoder final : public OfView {
 public:
  FurtherPictureDecoder(const ViewSetPtr& set, size_t view, size_t field, ImageOptions options)
      : OfView(set, view, options.output.dtype, picture_shape(options.output, set->size_of(view))),
        field_(field),
        options_(std::move(options)) {
    validate(options_);
    refuse_moves_of_follower(options_, set->views()[view].image, set->views()[view].name);
  }
  std::optional<std::vector<size_t>> inputs() const override {
    return with_input(OfView::inputs(), field_);
  }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<PictureScratch>(set(), options_);
  }

  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    auto& own = static_cast<PictureScratch&>(*scratch);
    SampleViews& sample = own.begin(record, key);
    const size_t first = set()->first_picture(view());
    PipelineTimes times;
    own.pictures.follow(record.bytes(field_), sample.pictures(), first,
                        std::span(sample.keys()).subspan(first, set()->num_pictures(view())),
                        times);
    for_copies(out, [&](size_t i, void* to) { own.pictures.write(i - first, to, times); });
    own.work.transform_ns += times.transform_ns;
  }

 private:
  struct PictureScratch final : ViewScratch {
    PictureScratch(const ViewSetPtr& set, const ImageOptions& options)
        : ViewScratch(set), pictures({options}) {}
    PictureViews pictures;
  };

  size_t field_;
  ImageOptions options_;
};

class ViewMaskDecoder final : public OfView {
 public:
  ViewMaskDecoder(const ViewSetPtr& set, size_t view, size_t field, bool is_tensor,
                  MaskOptions options)
      : OfView(set, view, options.dtype, {set->size_of(view).height, set->size_of(view).width}),
        field_(field),
        is_tensor_(is_tensor),
        options_(std::move(options)) {
    validate(options_);
  }
  std::optional<std::vector<size_t>> inputs() const override {
    return with_input(OfView::inputs(), field_);
  }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<MaskScratch>(set(), options_);
  }

  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    auto& own = static_cast<MaskScratch&>(*scratch);
    SampleViews& sample = own.begin(record, key);
    const MaskView mask = sample.mask(record, field_, is_tensor_, options_.numbers);
    for_copies(out,
               [&](size_t i, void* to) { own.scaler.run(mask, sample.pictures().moves(i), to); });
  }

 private:
  struct MaskScratch final : ViewScratch {
    MaskScratch(const ViewSetPtr& set, const MaskOptions& options)
        : ViewScratch(set), scaler(options) {}
    MaskScaler scaler;
  };

  size_t field_;
  bool is_tensor_;
  MaskOptions options_;
};

// The view of a mask of ones, with zeros around it.
class PixelMaskDecoder final : public OfView {
 public:
  PixelMaskDecoder(const ViewSetPtr& set, size_t view)
      : OfView(set, view, DType::u8, {set->size_of(view).height, set->size_of(view).width}) {}
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<OnesScratch>(set());
  }

  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    auto& own = static_cast<OnesScratch&>(*scratch);
    SampleViews& sample = own.begin(record, key);
    const ImageInfo& picture = sample.pictures().info();
    own.row.assign(static_cast<size_t>(picture.width), 1);
    const MaskView ones{.data = own.row.data(),
                        .dtype = DType::u8,
                        .width = picture.width,
                        .height = picture.height,
                        .stride = 0};  // all rows are this one
    for_copies(out,
               [&](size_t i, void* to) { own.scaler.run(ones, sample.pictures().moves(i), to); });
  }

 private:
  struct OnesScratch final : ViewScratch {
    explicit OnesScratch(const ViewSetPtr& set) : ViewScratch(set), scaler({.fill = 0}) {}
    MaskScaler scaler;
    std::vector<uint8_t> row;
  };
};

class GeometryDecoder final : public OfView {
 public:
  GeometryDecoder(const ViewSetPtr& set, size_t view) : OfView(set, view, DType::f64, {3, 3}) {}
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    SampleViews& sample = static_cast<ViewScratch&>(*scratch).begin(record, key);
    for_copies(out, [&](size_t i, void* to) {
      const ViewMatrix matrix = sample.pictures().matrix(i);
      std::memcpy(to, matrix.data(), sizeof(matrix));
    });
  }
};

class PictureSizeDecoder final : public OfView {
 public:
  PictureSizeDecoder(const ViewSetPtr& set, size_t view) : OfView(set, view, DType::i64, {2}) {}
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    SampleViews& sample = static_cast<ViewScratch&>(*scratch).begin(record, key);
    for_copies(out, [&](size_t i, void* to) {
      const ImageSize size = sample.pictures().picture_size(i);
      const std::array<int64_t, 2> numbers = {size.height, size.width};
      std::memcpy(to, numbers.data(), sizeof(numbers));
    });
  }
};

class SourceSizeDecoder final : public FieldDecoder {
 public:
  explicit SourceSizeDecoder(ViewSetPtr set) : set_(std::move(set)) {}
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {2}; }
  std::optional<std::vector<size_t>> inputs() const override { return set_->inputs(); }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<ViewScratch>(set_);
  }
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    const ImageInfo& info =
        static_cast<ViewScratch&>(*scratch).begin(record, key).pictures().info();
    const std::array<int64_t, 2> size = {info.height, info.width};
    std::memcpy(out, size.data(), sizeof(size));
  }

 private:
  ViewSetPtr set_;
};

}  // namespace

void refuse_moves_of_follower(const ImageOptions& follower, const ImageOptions& leader,
                              const std::string& view) {
  if (moves_pixels(follower.augmentations)) {
    throw Error(ErrorCode::invalid_argument,
                "a PictureField follows the geometry of its view, so the PictureField cannot have "
                "its own RandAugment, TrivialAugmentWide or AutoAugment; use augmentations that "
                "only change colours");
  }
  const DType dtype = follower.output.dtype;
  const bool has_numbers = dtype == DType::u16 || dtype == DType::i32;
  if (!has_numbers || !moves_pixels(leader.augmentations)) return;
  throw error_of(
      ErrorCode::invalid_argument,
      "an augmentation of the view '{}' moves pixels and converts values to bytes, but a "
      "PictureField of {} must keep its values; use a MaskField, which keeps the values",
      view, to_string(dtype));
}

std::shared_ptr<const FieldDecoder> decode_view(const ViewSetPtr& set, size_t view) {
  return std::make_shared<ViewDecoder>(set, view);
}

std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const PictureField& field) {
  const size_t at = require_image(schema, field.field);
  ImageOptions options{.transform = set->views()[view].image.transform,
                       .augmentations = field.augmentations,
                       .output = field.output};
  return where_null(
      schema, field,
      std::make_shared<const FurtherPictureDecoder>(set, view, at, std::move(options)));
}

std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const MaskField& field) {
  const Field& description = schema.fields[schema.require(field.field)];
  const bool is_tensor = description.type == FieldType::tensor && can_be_mask(description.dtype);
  const size_t at =
      is_tensor ? schema.require(field.field)
                : require_image(schema, field.field, "a PNG, or a tensor of u8, u16 or i32");
  return where_null(schema, field,
                    std::make_shared<const ViewMaskDecoder>(set, view, at, is_tensor, field.mask));
}

std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& /*schema*/,
                                                      const ViewSetPtr& set, size_t view,
                                                      const PixelMaskField& /*field*/) {
  return std::make_shared<PixelMaskDecoder>(set, view);
}

std::shared_ptr<const FieldDecoder> decode_geometry(const ViewSetPtr& set, size_t view) {
  return std::make_shared<GeometryDecoder>(set, view);
}

std::shared_ptr<const FieldDecoder> decode_picture_size(const ViewSetPtr& set, size_t view) {
  return std::make_shared<PictureSizeDecoder>(set, view);
}

std::shared_ptr<const FieldDecoder> decode_source_size(ViewSetPtr set) {
  return std::make_shared<SourceSizeDecoder>(std::move(set));
}

}  // namespace ffkit
