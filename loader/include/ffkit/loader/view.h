// View: a named geometry of a sample's picture, for the picture itself and for masks, boxes, points
// and further pictures that follow it. Plain options.
//
//   LoaderOptions{.views = {{"global", {.transform = RandomResizedCrop{}}, 2},
//                           {"local", {.transform = RandomResizedCrop{.size = 96}}, 8}},
//                 .view_fields = {{"mask", MaskField{.field = "mask", .view = "global"}}}}
//
//   batch "global" [N, 2, 3, 224, 224], "local" [N, 8, 3, 96, 96], "mask" [N, 2, 224, 224]
//
// A picture is read and decoded once for all of its views. The random numbers of a view depend only
// on (seed, epoch, record), its name and the copy, not on other views.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/image/image_options.h>
#include <ffkit/image/mask.h>
#include <ffkit/image/random.h>
#include <ffkit/loader/field_decoder.h>

namespace ffkit {

struct View {
  std::string name;         // of its array in the batch
  ImageOptions image = {};  // its geometry is image.transform; the rest is done to its picture
  // 0: one picture, [N, 3, H, W]. n: n pictures, each with numbers of its own, [N, n, 3, H, W].
  int64_t copies = 0;
};

// The key for the random numbers of a view. For the default view, with an empty name, it is `key`
// itself.
SampleKey view_key(const SampleKey& key, std::string_view view, int64_t copy = 0);

// Each of these belongs to a view: `view` is its name; empty: the loader's only view. In a view
// with copies, arrays are [N, copies, ...]. Ragged rows of boxes are ordered by copy, [boxes of all
// copies of all samples, ...]; Batch::row_offsets() has the begin of each copy. Each copy keeps its
// own boxes.

// If the Compose of a view ends with PadToLargest, its arrays, also those of MaskField,
// PictureField and PixelMaskField, are as large as the largest picture of each batch.

// Further pictures of the record, such as a second camera or a depth map: [N, 3, H, W]. They must
// have the size of the view's picture (else a bad sample, Error(corrupt)). They use the random
// numbers of the view, also for colours.
struct PictureField {
  std::string field;
  std::string view = {};
  std::vector<Augmentation> augmentations = {};
  ImageOutput output = {};
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// A mask: [N, H, W] of mask.dtype. The field is an image or bytes (a PNG), or a tensor [height,
// width] of u8, u16 or i32. It must have the size of the view's picture.
struct MaskField {
  std::string field;
  std::string view = {};
  MaskOptions mask = {};
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// A mask of padding, for DETR and others: [N, H, W] u8, 1 in the picture, 0 in the padding.
struct PixelMaskField {
  std::string view = {};
};

enum class BoxFormat : uint8_t {
  xywh,    // left, top, width, height, as COCO has them
  xyxy,    // left, top, right, bottom, as torchvision's detectors take them
  cxcywh,  // centre, width, height, as DETR takes them
};
template <>
inline constexpr auto kNames<BoxFormat> = enum_names<BoxFormat>("box format",
                                                                {{BoxFormat::xywh, "xywh"},
                                                                 {BoxFormat::xyxy, "xyxy"},
                                                                 {BoxFormat::cxcywh, "cxcywh"}});

struct BoxCoordinates {
  BoxFormat format = BoxFormat::xyxy;
  // Shares of the width and height of the picture or view, instead of pixels. Padding by
  // PadToLargest does not count.
  bool is_relative = false;
};

// Boxes: rows of four f32, [boxes of all samples, 4] or, padded, [N, max_boxes, 4] ([N, copies,
// max_boxes, 4] for a view with copies). The field is a tensor [n, 4] of f32, f64, i32 or i64. A
// box moves with the pixels. If it is rotated, it becomes the upright box around it. It is clipped
// to the view, and dropped if too little is left. A box without area, or with a value that is not
// finite, is left out with its labels, points and mask, and counted
// (LoaderStatistics::num_items_left_out).
struct BoxesField {
  std::string field = "boxes";
  std::string view = {};
  BoxCoordinates stored = {.format = BoxFormat::xywh};
  BoxCoordinates output = {};
  double min_size = 1;     // pixels of the view: a box with a shorter side is dropped
  double min_visible = 0;  // share of its area that must lie in the view, 0 .. 1
  // If more boxes than this remain in a picture, the sample is bad.
  int64_t max_boxes = 100;
  RowLayout layout = RowLayout::ragged;
  // If the field is null, there are no boxes and no rows of their labels, points and masks. False:
  // a bad sample.
  bool zeros_where_null = false;
};

// Numbers of each box, such as labels; those of dropped boxes are dropped, too. The field is a
// tensor [n, shape...]; the batch has rows of its dtype.
struct BoxRowsField {
  std::string field;
  std::string boxes = "boxes";  // the array of the BoxesField
  std::vector<int64_t> shape = {};
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// The meaning of the numbers of points.
enum class PointCount : uint8_t {
  pixels,  // x is the pixel of column x, as in COCO: its centre moves, and a flip makes W - 1 - x
  edges,   // x pixels from the left edge of the picture: a flip makes W - x
};
template <>
inline constexpr auto kNames<PointCount> = enum_names<PointCount>("count of points",
                                                                  {{PointCount::pixels, "pixels"},
                                                                   {PointCount::edges, "edges"}});

// Key points: f32 rows [num_points, 3] of x and y in the view, and visibility. The field is a
// tensor [n, num_points, 3] of f32 or f64, or [n, num_points, 2] if all are visible (2). Points
// outside of the view get the visibility 0. If a point has it already, its x and y stay.
struct PointsField {
  std::string field = "keypoints";
  int64_t num_points = 17;
  // The array of the BoxesField; points are dropped with their boxes.
  std::string boxes = "boxes";
  // Pairs of points to swap in a mirrored view, such as the left and the right eye.
  std::vector<std::pair<int64_t, int64_t>> mirrored = {};
  PointCount counts = PointCount::pixels;  // of the record and of the batch
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// A mask for each kept box: rows [H, W] u8, 1 inside its object and 0 elsewhere. The field is a
// list with a tensor u32 [runs, 2] for each box, as ffconvert coco --segmentation masks makes it:
// runs of pixels [begin, end), counted along the rows of the picture, ascending and not touching.
// Memory is reserved for the BoxesField's max_boxes rows of each picture.
struct InstanceMasksField {
  std::string field = "masks";
  std::string boxes = "boxes";    // the array of the BoxesField
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// Treatment of videos with too few frames for a clip.
enum class ShortVideo : uint8_t {
  bad,     // it is a bad sample
  loop,    // it begins anew behind its last frame
  repeat,  // its last frame is repeated; with a stride of 0 each frame as often as needed
};
template <>
inline constexpr auto kNames<ShortVideo> = enum_names<ShortVideo>("if_short",
                                                                  {{ShortVideo::bad, "bad"},
                                                                   {ShortVideo::loop, "loop"},
                                                                   {ShortVideo::repeat, "repeat"}});

// Frames of a video: [N, count, 3, H, W]. The field is a list of images or bytes. A clip is a view
// with the name of its array and its own random numbers: all of its frames get the same crop, flip
// and colours. If frames differ in size, the sample is bad. Only MaskField and PictureField may
// follow a clip: their fields are lists, too, with one item for each frame. The whole record is
// read, but only the frames of the clip are decoded.
struct FramesField {
  std::string field = "frames";
  int64_t count = 16;
  // Distance of two frames of the clip, in frames of the video. 0: the video is divided into
  // `count` equal parts, and each gives one frame.
  int64_t stride = 1;
  // The clip begins at a random place in the video; with stride 0, each frame is a random one of
  // its part. False: the clip is in the middle of the video, or each frame in the middle of its
  // part.
  bool jitter = true;
  ShortVideo if_short = ShortVideo::bad;
  ImageOptions image = {};
};

// The numbers of a clip's frames in the video, from 0: [N, count] i64.
struct FrameNumbersField {
  std::string view = {};
};

struct ViewField {
  std::string name;  // of the array in the batch
  std::variant<PictureField, MaskField, PixelMaskField, BoxesField, BoxRowsField, PointsField,
               InstanceMasksField, FramesField, FrameNumbersField>
      what;
};

}  // namespace ffkit
