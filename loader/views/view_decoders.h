// Decoders of what a view shows and of what follows it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>
#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_info.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/loader/view.h>

#include "image/codec/mask_decoder.h"
#include "image/views/mask_scaler.h"
#include "image/views/picture_views.h"
#include "loader/batch/slab_pool.h"

namespace ffkit {

// ViewSet: the views of a data set's picture field, which all decoders of a loader share.
// BoxesInView: the boxes of a sample that stay in one of them. SampleViews: one thread's sample,
// decoded once for all of them.

// A tensor [n, ...] of f32, f64, i32 or i64 as numbers, row by row.
std::vector<double> numbers_of(const TensorView& tensor);

// The boxes of a sample that stay in a view, and where they are there.
struct BoxesInView {
  std::vector<int64_t> indices;  // of the record's boxes, ascending
  std::vector<BoxEdges> edges;   // in pixels of the view, within it
  int64_t num_boxes = 0;         // of the record
  // Of the record's boxes, those that have no area and so are in no view.
  std::vector<int64_t> without_area = {};
};

// The boxes of a picture, in its pixels, those without area too. `at` is the place of options.field
// in the record. Throws Error(corrupt) for another shape than [n, 4].
std::vector<BoxEdges> boxes_of(const BoxesField& options, const RecordView& record, size_t at,
                               const ImageInfo& picture);

// Of picture `i` of the sample's. Throws what boxes_of() throws.
BoxesInView keep_boxes(const BoxesField& options, const RecordView& record, size_t at,
                       const PictureViews& pictures, size_t i);

// In the coordinates that the options ask for.
std::array<float, 4> coordinates_of(const BoxEdges& edges, const BoxCoordinates& coordinates,
                                    ImageSize size);

// Boxes that follow a view.
struct ViewBoxes {
  size_t view;
  size_t at;  // of the record's fields
  BoxesField field;
};

// Never changes.
class ViewSet {
 public:
  // `field` has the picture. Throws Error(invalid_argument) for options out of range, and for a
  // RandomIoUCrop without boxes. is_default: the one view draws the sample's own numbers.
  ViewSet(size_t field, std::vector<View> views, std::vector<ViewBoxes> boxes, bool is_default);

  size_t field() const { return field_; }
  // The fields of a record that its pictures are made from: the picture, and boxes that a crop
  // looks at; and a further one.
  std::vector<size_t> inputs(std::optional<size_t> further = std::nullopt) const {
    std::vector<size_t> fields = {field_};
    for (const ViewBoxes& boxes : boxes_) fields.push_back(boxes.at);
    if (further) fields.push_back(*further);
    return fields;
  }
  // All boxes of the picture that follow the view and have an area.
  std::vector<BoxEdges> boxes_of_view(size_t view, const RecordView& record,
                                      const ImageInfo& picture) const;
  const std::vector<View>& views() const { return views_; }
  ImageSize size_of(size_t view) const { return image_size(views_[view].image.transform); }

  // Pictures of all views behind each other.
  size_t num_pictures() const { return view_of_.size(); }
  std::span<const size_t> view_of() const { return view_of_; }
  size_t first_picture(size_t view) const { return first_picture_[view]; }
  size_t num_pictures(size_t view) const;
  // What each of them draws with.
  void make_keys(const SampleKey& key, std::vector<SampleKey>& keys) const;

  // {copies, shape...}, or the shape itself of a view without copies.
  std::vector<int64_t> with_copies(size_t view, std::vector<int64_t> shape) const;

 private:
  size_t field_;
  std::vector<View> views_;
  std::vector<ViewBoxes> boxes_;
  bool is_default_;
  std::vector<size_t> first_picture_;  // by view
  std::vector<size_t> view_of_;        // by picture
};

// Whether a tensor of it may be a mask.
bool can_be_mask(DType dtype);
// The mask that is a tensor [height, width], copied to `memory`, where numbers of any size may lie.
// Throws Error(corrupt) for another shape.
MaskView mask_of_tensor(const TensorView& tensor, std::vector<std::byte>& memory);

// Not thread-safe: one per thread.
class SampleViews {
 public:
  explicit SampleViews(const ViewSet& set);

  // Turns to a sample, unless it is there already. Throws what ImageDecoder throws.
  void begin(const RecordView& record, const SampleKey& key, int64_t record_index,
             PipelineTimes& times);

  PictureViews& pictures() { return pictures_; }
  const std::vector<SampleKey>& keys() const { return keys_; }
  // The mask in `field` of the record, decoded once; lives until the next call. Throws what
  // MaskDecoder throws, and Error(corrupt) for another size than the picture's.
  MaskView mask(const RecordView& record, size_t field, bool is_tensor, MaskNumbers numbers);

 private:
  struct DecodedMask {
    size_t field;
    MaskNumbers numbers;
    std::unique_ptr<MaskDecoder> decoder;
    bool is_decoded = false;
    MaskView view;
  };

  const ViewSet& set_;
  PictureViews pictures_;
  std::vector<SampleKey> keys_;
  std::vector<DecodedMask> masks_;
  std::vector<std::byte> tensor_;  // the last mask that is a tensor
  // The sample that it is at.
  bool has_begun_ = false;
  int64_t record_index_ = -1;
  SampleKey key_;
  const void* data_ = nullptr;
};

// Of all decoders of views: their memory, of which the SampleViews are shared by those of a thread.
class ViewScratch : public FieldDecoder::Scratch {
 public:
  explicit ViewScratch(std::shared_ptr<const ViewSet> set) : set_(std::move(set)) {}
  SampleViews& begin(const RecordView& record, const SampleKey& key);
  // Takes the views of another scratch of the same set and thread.
  void share(ViewScratch& other);

 private:
  SampleViews& views();

  std::shared_ptr<const ViewSet> set_;
  std::shared_ptr<SampleViews> views_;
};

using ViewSetPtr = std::shared_ptr<const ViewSet>;

// With what scales masks, and the pixels of one that is made here.
struct ViewMaskScratch final : ViewScratch {
  ViewMaskScratch(const ViewSetPtr& set, const MaskOptions& options)
      : ViewScratch(set), scaler(options) {}
  MaskScaler scaler;
  std::vector<uint8_t> pixels;
};

// Writes a fact of picture `i` to an array.
using WriteFact = void (*)(const PictureViews& pictures, size_t i, void* out);
void write_matrix(const PictureViews& pictures, size_t i, void* out);       // [3, 3] f64
void write_source_size(const PictureViews& pictures, size_t i, void* out);  // [2] i64

// What has pixels: pictures of a view, further pictures, masks; and the geometry.
std::shared_ptr<const FieldDecoder> decode_view(const ViewSetPtr& set, size_t view);
// Fields are looked up in `schema`; throws as decode_image() does, and Error(invalid_argument) for
// options out of range.
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const PictureField& field);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const MaskField& field);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const PixelMaskField& field);
// [3, 3] f64, see ViewMatrix.
std::shared_ptr<const FieldDecoder> decode_geometry(const ViewSetPtr& set, size_t view);
// The decoder of a MaskField or PictureField, with zeros where its field is null if it says so.
template <typename Described>
std::shared_ptr<const FieldDecoder> where_null(const Schema& schema, const Described& field,
                                               std::shared_ptr<const FieldDecoder> decoder) {
  if (!field.zeros_where_null) return decoder;
  return zeros_where_null(schema, field.field, std::move(decoder));
}

// [2] i64: height and width of what the picture has of the view; see PadToLargest.
std::shared_ptr<const FieldDecoder> decode_picture_size(const ViewSetPtr& set, size_t view);
// [2] i64: height and width of the picture.
std::shared_ptr<const FieldDecoder> decode_source_size(const ViewSetPtr& set);

// Throws Error(invalid_argument) for augmentations that a picture which follows `leader`, the
// options of `view`, cannot have.
void refuse_moves_of_follower(const ImageOptions& follower, const ImageOptions& leader,
                              const std::string& view);

// Boxes, numbers of boxes, key points and masks of boxes, which follow a view. Throw
// Error(invalid_argument) for options out of range, and as Schema::require() does. `boxes` says
// which rows there are. Of a view with copies each copy has rows of its own.
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const BoxRowsField& field,
                                                      const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const PointsField& field,
                                                      const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const InstanceMasksField& field,
                                                      const BoxesField& boxes);

// Clips: frames of a video, which is a field of a list of pictures, as one array of a batch; and
// what follows them.

// A FramesField of a batch. Never changes.
class Clip {
 public:
  // `name` is that of its array. Throws Error(invalid_argument) for options out of range, and for a
  // field that has no pictures.
  Clip(const Schema& schema, std::string name, FramesField options);

  const std::string& name() const { return name_; }
  const FramesField& options() const { return options_; }
  size_t field() const { return field_; }
  int64_t count() const { return options_.count; }
  // What all of its frames draw with.
  SampleKey key_of(const SampleKey& sample) const;
  // The numbers of its `count()` frames among the `num_frames` of the video. Throws
  // Error(unsupported) for a video that is too short, and Error(corrupt) for one without frames.
  std::vector<int64_t> choose(int64_t num_frames, const SampleKey& sample) const;

 private:
  int64_t frame_of_part(int64_t part, int64_t num_frames, CounterRandom& random) const;

  std::string name_;
  FramesField options_;
  size_t field_;
};

using ClipPtr = std::shared_ptr<const Clip>;

// [count, 3, H, W]; each frame is a part.
std::shared_ptr<const FieldDecoder> decode_clip(const ClipPtr& clip);
// What follows it. Fields are looked up in `schema`; throw Error(invalid_argument) for a field that
// is no list, and for options out of range.
std::shared_ptr<const FieldDecoder> decode_clip_field(const Schema& schema, const ClipPtr& clip,
                                                      const MaskField& field);
std::shared_ptr<const FieldDecoder> decode_clip_field(const Schema& schema, const ClipPtr& clip,
                                                      const PictureField& field);
// [count] i64.
std::shared_ptr<const FieldDecoder> decode_frame_numbers(const ClipPtr& clip);
// [3, 3] f64, see ViewMatrix.
std::shared_ptr<const FieldDecoder> decode_clip_geometry(const ClipPtr& clip);
// [2] i64: height and width of its frames.
std::shared_ptr<const FieldDecoder> decode_frame_size(const ClipPtr& clip);

// The arrays of a loader's views, as fields of its batches.

// All arrays that LoaderOptions ask for. Those behind `num_visible` are found by Batch::geometry()
// and Batch::source_sizes() alone.
struct BatchFields {
  std::vector<BatchField> fields;
  size_t num_visible = 0;
  size_t num_pictures = 0;  // the first ones: the views of the picture
  // Of the picture, then clips; their geometry is field num_visible + 1 + i.
  std::vector<std::string> views;
  std::vector<PaddedView> padded;
};

// Throws Error(invalid_argument) for options that do not fit together, and as the decoders of
// field_decoder.h do.
BatchFields batch_fields(const Schema& schema, const LoaderOptions& options);

// Whether a picture, view, clip or field of them has a RandomResizedCrop or RandomCrop that mirrors
// nothing.
bool crops_without_flips(const Schema& schema, const LoaderOptions& options);

// Lets decoders of one thread share the picture that they are views of. `scratch`: by field.
void share_views(std::span<const std::unique_ptr<FieldDecoder::Scratch>> scratch);

}  // namespace ffkit
