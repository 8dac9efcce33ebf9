// ViewSet: the views of a data set's picture field, which all decoders of a loader share.
// BoxesInView: the boxes of a sample that stay in one of them. SampleViews: one thread's sample,
// decoded once for all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/rgb_image.h>
#include <ffkit/image/view_geometry.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/view.h>

#include "image/codec/mask_decoder.h"
#include "image/views/picture_views.h"

namespace ffkit {

// A tensor [n, ...] of f32, f64, i32 or i64 as numbers, row by row.
std::vector<double> numbers_of(const TensorView& tensor);

// The boxes of a sample that stay in a view, and where they are there.
struct BoxesInView {
  std::vector<int64_t> indices;  // of the record's boxes, ascending
  std::vector<BoxEdges> edges;   // in pixels of the view, within it
  int64_t num_boxes = 0;         // of the record
};

// The boxes of a picture, in its pixels. `at` is the place of options.field in the record. Throws
// Error(corrupt) for another shape than [n, 4], and for boxes without area or with values that are
// no numbers.
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
  // All boxes of the picture that follow the view.
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

}  // namespace ffkit
