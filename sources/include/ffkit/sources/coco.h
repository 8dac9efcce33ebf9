// COCO: pictures and their annotations. Throws Error with file, reason and remedy.
#pragma once

#include <filesystem>
#include <memory>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// COCO: path/annotations/instances_<split>.json (or person_keypoints_<split>.json) with the
// pictures in path/<split>/, path/images/<split>/ or path/images/. One record a picture, in the
// order of the file, with N annotations, N = 0 included:
//
//   image           as its file is
//   boxes           f32 [N, 4]: x, y of the left upper corner, width, height, in pixels
//   image_id        i64, column                        annotation_ids  i64 [N]
//   width, height   i64, columns, by the annotations
//   iscrowd         u8 [N]; 0 where it is not said
//   labels          i64 [N]: position of the category among the ids in ascending order, which are
//                   the classes
//   segmentation    string, when asked for: JSON array of the annotations' segmentations (polygons
//                   or RLE), null for those without
//   semantic        image, when asked for: a PNG of the category's id of each pixel, 0 for none; of
//                   8 bits, or of 16 where an id is above 255
//   instances       image, when asked for: a PNG of 16 bits with k + 1 for the annotation k of the
//                   arrays, 0 for none
//   masks           list of N tensors u32 [R, 2], when asked for: the pixels of each annotation as
//                   runs [begin, end), counted along the rows of the picture, ascending and apart;
//                   R = 0 for an annotation without a segmentation
//   area f32 [N], num_keypoints i64 [N], keypoints f32 [N, K, 3]     when all annotations have them
//   keypoints_cam   f32 [N, K, 3]   as sets of poses like MuCo have them, when all have them; of
//   keypoints_img   f32 [N, K, 2]   the shape that they have in the file. f and c are the picture's
//   keypoints_vis   f32 [N, ...]
//   f, c            f32 [2]
//   id              the picture's file name, column
//
// Arrays that some annotations lack, or that have different shapes, are left out, with a note.
// Other members are ignored. Missing picture files are an Error(not_found) that counts them. With
// segmentations, the annotation file is read twice and must not change.
struct CocoOptions {
  // the file of one split, together with `images`; below `path`, or a full path
  std::filesystem::path annotations;
  std::filesystem::path images;
  // Instead of annotations/instances_*.json: a folder (below `path`, or a full path) with
  // panoptic_<split>.json and the PNGs in panoptic_<split>/; with `annotations`, the folder of its
  // PNGs. Then annotations are segments, the field is `segment_ids` instead of `annotation_ids`,
  // and `panoptic` is the unchanged PNG: red + 256 green + 65536 blue is the id of a segment.
  std::filesystem::path panoptic;
  bool keypoints = false;     // person_keypoints_*.json even if there is instances_*.json
  bool segmentation = false;  // field `segmentation`
  // Fields `semantic` and `instances`: the pixels of polygons and RLE, like pycocotools, painted
  // over each other: crowds first, then the others in the order of the file. An invalid
  // segmentation, or one of another size than its picture, makes a bad sample; the report counts
  // annotations without one. Error(unsupported) for ids of categories that are not 1 .. 65535.
  // Field `masks`: the same pixels for each annotation separately.
  bool semantic_masks = false;
  bool instance_masks = false;
  bool mask_runs = false;
  bool allow_missing = false;     // pictures whose file is missing are left out, with a note
  StoreAs store = StoreAs::jpeg;  // or dct; pictures stay as they are otherwise
  // apply: pictures that EXIF data rotate are stored upright, as annotation tools show them
  ExifUse exif = ExifUse::ignore;
};
std::unique_ptr<Source> open_coco(const std::filesystem::path& path,
                                  const CocoOptions& options = {});

}  // namespace ffkit
