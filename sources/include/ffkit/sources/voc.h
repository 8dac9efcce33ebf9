// Pascal VOC: pictures with boxes in XML files. Throws Error with file, reason and remedy.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// path/Annotations/*.xml with path/JPEGImages/* and the lists path/ImageSets/Main/<split>.txt; or
// the folder above, which holds one such VOC<year>. Without lists all annotations are one split,
// "train". Without Annotations: XML files beside the pictures, in folders with names of splits or
// in `path`.
//
// One record a picture, with the fields of open_coco() (ffkit/sources/coco.h) and
//
//   difficult, truncated, occluded   i64 [N]; 0 where it is not said
//   pose                             string: JSON list, "Unspecified" where it is not said
//
// VOC numbers pixels from 1, and xmax and ymax belong to the box, so x = xmin - 1, y = ymin - 1,
// width = xmax - x, height = ymax - y. `image_id` counts a split's pictures from 1; the annotation
// of object k of picture i is 1000000 i + k; `category_ids` are labels + 1.
struct VocOptions {
  std::vector<std::string> splits;  // to convert; empty: train, val and test, else trainval
  // A text file with one class per line; empty: the 20 of Pascal VOC if there are no others, else
  // those of the annotations, sorted.
  std::filesystem::path classes;
  // 1: xmin to ymax are pixels, as above; 0: they are edges, counted from 0, as some tools write
  // them.
  int first_pixel = 1;
  // Fields `semantic` and `instances`: the unchanged files SegmentationClass/*.png and
  // SegmentationObject/*.png, null if missing. Object k of the XML file has number k there, borders
  // 255.
  bool semantic_masks = false;
  bool instance_masks = false;
  bool allow_missing = false;      // names of lists without picture or annotations are left out
  StoreAs store = StoreAs::jpeg;   // or dct
  ExifUse exif = ExifUse::ignore;  // apply: pictures that EXIF data turn are stored upright
};
std::unique_ptr<Source> open_voc(const std::filesystem::path& path, const VocOptions& options = {});

}  // namespace ffkit
