// Pictures with annotations as a source: the fields that `ffconvert coco` writes
// (ffkit/sources/coco.h), whatever the annotations are read from.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

#include "coco/coco_file.h"
#include "coco/coco_listing.h"
#include "coco/coco_masks.h"
#include "converter/input/input_file.h"

namespace ffkit {

// A file that belongs to a picture, such as its labels or a mask.
struct FileBeside {
  std::filesystem::path path;
  FileStamp stamp{.num_bytes = -1};  // -1 bytes: there is no such file
};

// Annotations of which each picture has a file of its own. They are read with the picture.
class PictureLabels {
 public:
  virtual ~PictureLabels() = default;
  // Those of a picture of `size` pixels (0 x 0: it cannot be read), as a file of one picture.
  // `from` is the picture's first file of AnnotatedSplit::beside. Bad annotations are left out by
  // `buffers`.
  virtual CocoFile read(size_t number, const FileBeside& from, PixelSize size,
                        SampleBuffers& buffers) const = 0;
};

struct AnnotatedSplit {
  CocoListing from;
  // With `labels`: pictures, categories, and the arrays that annotations will have, by
  // CocoNumbers::declare().
  CocoFile file;
  std::unique_ptr<PictureLabels> labels = {};
  std::unique_ptr<InputFile> annotations = {};  // without `labels`: again, for segmentations
  std::vector<SourceInput> inputs = {};
  std::vector<FileStamp> stamps = {};  // of the pictures' files; -1 bytes: there is no such file
  // Of each picture: its labels, then its masks, or its panoptic PNG. Empty where there are none.
  std::vector<std::vector<FileBeside>> beside = {};
  std::vector<size_t> taken = {};                      // the pictures that become samples
  std::unordered_map<int64_t, int64_t> label_of = {};  // by the file's category_ids; made below
};

struct AnnotatedSet {
  std::string kind;
  std::filesystem::path path;
  ImageStorage storage;
  bool is_panoptic = false;
  bool has_segmentation = false;
  CocoMaskKinds masks;
  bool has_mask_files = false;  // masks are the files `beside`, behind the labels
  bool has_poses = false;       // field `pose`
  std::vector<AnnotatedSplit> splits;
  std::vector<std::string> notes;
};

// Reports a picture of other sides than its annotations say; -1: they do not say.
void report_other_size(int64_t width, int64_t height, PixelSize own, SampleBuffers& buffers);

// Throws Error(invalid_argument) for splits whose categories or kinds of ids differ.
std::unique_ptr<Source> make_annotated_source(AnnotatedSet set);

}  // namespace ffkit
