#include <cstring>
#include <utility>

#include "base/make_error.h"
#include "fields/decoder_base.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

// What all of them have: one array of a view.
class OfView : public ArrayDecoder<> {
 public:
  OfView(const ViewSetPtr& set, size_t view, DType dtype, const std::vector<int64_t>& shape,
         std::optional<size_t> field = std::nullopt)
      : ArrayDecoder(set->inputs(field), dtype, set->with_copies(view, shape)),
        set_(set),
        view_(view),
        bytes_per_copy_(array_bytes(dtype, shape)) {}
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
      : OfView(set, view, options.output.dtype, picture_shape(options.output, set->size_of(view)),
               field),
        field_(field),
        options_(std::move(options)) {
    validate(options_);
    refuse_moves_of_follower(options_, set->views()[view].image, set->views()[view].name);
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
      : OfView(set, view, options.dtype, {set->size_of(view).height, set->size_of(view).width},
               field),
        field_(field),
        is_tensor_(is_tensor),
        options_(std::move(options)) {
    validate(options_);
  }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<ViewMaskScratch>(set(), options_);
  }

  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    auto& own = static_cast<ViewMaskScratch&>(*scratch);
    SampleViews& sample = own.begin(record, key);
    const MaskView mask = sample.mask(record, field_, is_tensor_, options_.numbers);
    for_copies(out,
               [&](size_t i, void* to) { own.scaler.run(mask, sample.pictures().moves(i), to); });
  }

 private:
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
    return std::make_unique<ViewMaskScratch>(set(), MaskOptions{.fill = 0});
  }

  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    auto& own = static_cast<ViewMaskScratch&>(*scratch);
    SampleViews& sample = own.begin(record, key);
    const ImageInfo& picture = sample.pictures().info();
    own.pixels.assign(static_cast<size_t>(picture.width), 1);
    const MaskView ones{.data = own.pixels.data(),
                        .dtype = DType::u8,
                        .width = picture.width,
                        .height = picture.height,
                        .stride = 0};  // all rows are this one
    for_copies(out,
               [&](size_t i, void* to) { own.scaler.run(ones, sample.pictures().moves(i), to); });
  }
};

// A fact of each picture of a view.
class FactDecoder final : public OfView {
 public:
  FactDecoder(const ViewSetPtr& set, size_t view, DType dtype, const std::vector<int64_t>& shape,
              WriteFact write)
      : OfView(set, view, dtype, shape), write_(write) {}
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    SampleViews& sample = static_cast<ViewScratch&>(*scratch).begin(record, key);
    for_copies(out, [&](size_t i, void* to) { write_(sample.pictures(), i, to); });
  }

 private:
  WriteFact write_;
};

class SourceSizeDecoder final : public ArrayDecoder<> {
 public:
  explicit SourceSizeDecoder(const ViewSetPtr& set)
      : ArrayDecoder(set->inputs(), DType::i64, {2}), set_(set) {}
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<ViewScratch>(set_);
  }
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    write_source_size(static_cast<ViewScratch&>(*scratch).begin(record, key).pictures(), 0, out);
  }

 private:
  ViewSetPtr set_;
};

void write_size(int64_t height, int64_t width, void* out) {
  const std::array<int64_t, 2> size = {height, width};
  std::memcpy(out, size.data(), sizeof(size));
}

void write_picture_size(const PictureViews& pictures, size_t i, void* out) {
  const ImageSize size = pictures.picture_size(i);
  write_size(size.height, size.width, out);
}

}  // namespace

void write_matrix(const PictureViews& pictures, size_t i, void* out) {
  const ViewMatrix matrix = pictures.matrix(i);
  std::memcpy(out, matrix.data(), sizeof(matrix));
}

void write_source_size(const PictureViews& pictures, size_t /*i*/, void* out) {
  write_size(pictures.info().height, pictures.info().width, out);
}

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
  return std::make_shared<FactDecoder>(set, view, DType::f64, std::vector<int64_t>{3, 3},
                                       write_matrix);
}

std::shared_ptr<const FieldDecoder> decode_picture_size(const ViewSetPtr& set, size_t view) {
  return std::make_shared<FactDecoder>(set, view, DType::i64, std::vector<int64_t>{2},
                                       write_picture_size);
}

std::shared_ptr<const FieldDecoder> decode_source_size(const ViewSetPtr& set) {
  return std::make_shared<SourceSizeDecoder>(set);
}

}  // namespace ffkit
