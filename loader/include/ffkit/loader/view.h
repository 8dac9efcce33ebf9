// View: a named geometry of a sample's picture, and what follows it: the picture itself, masks,
// boxes, points and further pictures. Plain options.
//
//   LoaderOptions{.views = {{"global", {.transform = RandomResizedCrop{}}, 2},
//                           {"local", {.transform = RandomResizedCrop{.size = 96}}, 8}},
//                 .view_fields = {{"mask", MaskField{.field = "mask", .view = "global"}}}}
//
//   batch "global" [N, 2, 3, 224, 224], "local" [N, 8, 3, 96, 96], "mask" [N, 2, 224, 224]
//
// A picture is read and decoded once for all of its views. The random numbers of a view depend on
// (seed, epoch, record), its name and the copy alone; other views beside it do not change them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

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

// With what a view draws instead of `key`: its pictures draw the numbers of this sample. For the
// default view, whose name is empty here, it is `key` itself.
SampleKey view_key(const SampleKey& key, std::string_view view, int64_t copy = 0);

// Each of these belongs to a view: `view` is its name; empty: the loader's only view. Arrays of a
// view with copies have them behind N, as its pictures do: [N, copies, ...]. Ragged rows of boxes
// stand copy by copy, [boxes of all copies of all samples, ...]: Batch::row_offsets() says where
// each copy's begin. Each copy keeps the boxes that it shows.

// A view whose Compose ends with PadToLargest has arrays, those of MaskField, PictureField and
// PixelMaskField too, that are as large as the largest picture of each batch.

// Further pictures of the record, such as a second camera or a depth map, which must have the size
// of the view's picture (else a bad sample, Error(corrupt)): [N, 3, H, W]. They draw the numbers of
// the view, for colours too.
struct PictureField {
  std::string field;
  std::string view = {};
  std::vector<Augmentation> augmentations = {};
  ImageOutput output = {};
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// A mask: [N, H, W] of mask.dtype. The field is an image or bytes (a PNG), or a tensor [height,
// width] of u8, u16 or i32. Its size must be that of the view's picture.
struct MaskField {
  std::string field;
  std::string view = {};
  MaskOptions mask = {};
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// Which pixels of the view are the picture's: [N, H, W] u8, 1 there, 0 where it has been padded.
// DETR and others take it beside batches of pictures of many sizes.
struct PixelMaskField {
  std::string view = {};
};

enum class BoxFormat : uint8_t {
  xywh,    // left, top, width, height, as COCO has them
  xyxy,    // left, top, right, bottom, as torchvision's detectors take them
  cxcywh,  // centre, width, height, as DETR takes them
};
std::string_view to_string(BoxFormat format);
// Throws Error(invalid_argument) for another name.
BoxFormat parse_box_format(std::string_view name);

struct BoxCoordinates {
  BoxFormat format = BoxFormat::xyxy;
  // Shares of the picture's, or the view's, width and height instead of pixels. What PadToLargest
  // adds to a view does not count.
  bool is_relative = false;
};

// Boxes: rows of four f32, [boxes of all samples, 4] or, padded, [N, max_boxes, 4], which is [N,
// copies, max_boxes, 4] of a view with copies. The field is a tensor [n, 4] of f32, f64, i32 or
// i64. A box is moved with the pixels, made upright where it is turned, clipped to the view, and
// dropped if too little of it is left. A box that has no area, or a value that is no number, is
// left out with its labels, points and mask, and counted (LoaderStatistics::num_items_left_out).
struct BoxesField {
  std::string field = "boxes";
  std::string view = {};
  BoxCoordinates stored = {.format = BoxFormat::xywh};
  BoxCoordinates output = {};
  double min_size = 1;     // pixels of the view: a box with a shorter side is dropped
  double min_visible = 0;  // share of its area that must lie in the view, 0 .. 1
  // A sample with more boxes than this in one picture, after the others were dropped, is bad.
  int64_t max_boxes = 100;
  RowLayout layout = RowLayout::ragged;
  // No boxes where the field is null, and no rows of what belongs to them. Not: a bad sample.
  bool zeros_where_null = false;
};

// Numbers of each box, such as labels: those of boxes that are dropped are dropped alike. The field
// is a tensor [n, shape...], of which the batch has rows of its dtype.
struct BoxRowsField {
  std::string field;
  std::string boxes = "boxes";  // the array of the BoxesField
  std::vector<int64_t> shape = {};
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// What the numbers of points are.
enum class PointCount : uint8_t {
  pixels,  // x is the pixel of column x, as in COCO: its centre moves, and a flip makes W - 1 - x
  edges,   // x pixels from the left edge of the picture: a flip makes W - x
};
std::string_view to_string(PointCount count);
// Throws Error(invalid_argument) for another name.
PointCount parse_point_count(std::string_view name);

// Key points: f32 rows [num_points, 3] of x and y in the view, and visibility. The field is a
// tensor [n, num_points, 3] of f32 or f64, or [n, num_points, 2], which are all visible (2). Points
// outside of the view get the visibility 0; those that have it already keep their numbers.
struct PointsField {
  std::string field = "keypoints";
  int64_t num_points = 17;
  // The array of the BoxesField whose boxes the points belong to; they are dropped with them.
  std::string boxes = "boxes";
  // Points that change places in a mirrored view, such as the left and the right eye.
  std::vector<std::pair<int64_t, int64_t>> mirrored = {};
  PointCount counts = PointCount::pixels;  // of the record and of the batch
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// A mask of each box: rows [H, W] u8, 1 where its object is and 0 elsewhere, of the boxes that are
// kept. The field is a list of tensors u32 [runs, 2], one for each box of the record: the pixels
// [begin, end) of the object, counted along the rows of the picture, ascending and apart, as
// ffconvert coco --segmentation masks makes them. There is room for the BoxesField's max_boxes rows
// of each picture.
struct InstanceMasksField {
  std::string field = "masks";
  std::string boxes = "boxes";    // the array of the BoxesField
  bool zeros_where_null = false;  // where the field is null, which makes a bad sample otherwise
};

// What becomes of a video that has too few frames for a clip.
enum class ShortVideo : uint8_t {
  bad,     // it is a bad sample
  loop,    // it begins anew behind its last frame
  repeat,  // its last frame is repeated; with a stride of 0 each frame as often as needed
};
std::string_view to_string(ShortVideo what);
// Throws Error(invalid_argument) for another name.
ShortVideo parse_short_video(std::string_view name);

// Frames of a video: [N, count, 3, H, W]. The field is a list of images or bytes. A clip is a view
// with the name of its array: all of its frames get one crop, flip and colours, drawn from random
// numbers of its own. Frames that differ in size make a bad sample. Of the fields above, MaskField
// and PictureField may follow a clip: their fields are lists too, with one item for each frame. The
// whole record is read, but only the frames of the clip are decoded.
struct FramesField {
  std::string field = "frames";
  int64_t count = 16;
  // From one frame of the clip to the next, in frames of the video. 0: the video is cut into
  // `count` parts of equal length, and each gives one frame.
  int64_t stride = 1;
  // The clip begins anywhere in the video, and with a stride of 0 a frame is any of its part. Not:
  // the clip in the middle, and the frame in the middle of its part.
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
