// YOLO: pictures and labels in the layout of Ultralytics. Throws Error with file, reason and
// remedy.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// `path` is data.yaml, or its folder. `path:` in it is the folder above train, val and test; each
// of these is a folder of pictures, a list of folders, or a text file of pictures. The labels of
// .../images/x/a.jpg are in .../labels/x/a.txt; for other pictures, the labels are beside them.
// Without this file, or with an empty one, a picture has no boxes. Numbers are shares of the
// picture's sides. Lines:
//
//   class x y width height              a box by its centre
//   class x1 y1 x2 y2 x3 y3 ...         a polygon; its box is around it
//   class x y width height x1 y1 (v1)   with key points, where data.yaml has kpt_shape
//
// One record a picture, with the fields of open_coco() (ffkit/sources/coco.h): boxes in pixels;
// `labels` are the classes' numbers, and `category_ids` are labels + 1, as Ultralytics writes them
// for COCO; `image_id` counts a split's pictures from 1; the annotation of line k of picture i is
// 1000000 i + k. Invalid lines and boxes without area are left out, and the report names them.
struct YoloOptions {
  std::vector<std::string> splits;  // to convert; empty: all
  // Fields as in CocoOptions. Annotations that are only boxes have no segmentation.
  bool segmentation = false;
  bool semantic_masks = false;
  bool instance_masks = false;
  bool mask_runs = false;
  bool allow_missing = false;  // pictures of lists whose file is missing are left out, with a note
  StoreAs store = StoreAs::jpeg;  // or dct
  // apply: pictures that EXIF data rotate are stored upright, as Ultralytics reads them
  ExifUse exif = ExifUse::ignore;
};
std::unique_ptr<Source> open_yolo(const std::filesystem::path& path,
                                  const YoloOptions& options = {});

}  // namespace ffkit
