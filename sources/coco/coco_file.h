// COCO annotation files: their numbers, and the ids by which they refer to one another.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ffkit/converter/source.h>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"

namespace ffkit {

// Ids of COCO files: whole numbers, or texts, which Python's dictionaries take as well.

// The ids of one kind, "image_id" and the pictures' "id". All are numbers, which stand for
// themselves, or all are texts, which are numbered as they come. Not thread-safe while ids are
// taken.
class CocoIds {
 public:
  // The number that stands for the member `key`. Throws Error(invalid_argument) where it is absent,
  // neither a whole number of 64 bits nor a text, or of the other kind than those before.
  int64_t take(const simdjson::dom::object& object, std::string_view key);

  bool is_empty() const { return !has_numbers_ && texts_.empty(); }
  bool is_text() const { return !texts_.empty(); }
  // Of texts alone.
  const std::string& text(int64_t number) const { return texts_.at(static_cast<size_t>(number)); }
  // For messages and JSON: 7, or "a.jpg" with its quotes.
  std::string json(int64_t number) const;

 private:
  bool has_numbers_ = false;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, int64_t> number_of_;
};

// COCO annotation files (cocodataset.org/#format-data): instances_*.json, person_keypoints_*.json,
// and what else is laid out like them.
//
// The file is read element by element; what is kept is the numbers, about 60 bytes an annotation,
// not the JSON.

// Arrays of numbers that annotations or pictures may have under one name.
struct CocoNumbers {
  std::string name;
  std::vector<int64_t> shape;  // of one element's array; empty until there is one
  std::vector<float> values;   // of all elements that have it, in their order
  size_t count = 0;            // of those elements
  bool is_uneven = false;      // their shapes differ, and `values` is empty
  bool are_whole = false;      // they are stored as integers

  size_t stride() const { return count == 0 ? 0 : values.size() / count; }
  // Takes the shape of what annotations will have that are read with their pictures.
  void declare(std::vector<int64_t> of_each);
  void add(std::span<const float> of_one) {
    values.insert(values.end(), of_one.begin(), of_one.end());
    ++count;
  }
};

struct CocoPicture {
  int64_t id = 0;  // CocoFile::picture_ids
  // Of "file_name"; of "coco_url" where there is none, as LVIS has it: "val2017/000000397133.jpg",
  // its last two parts.
  std::string file_name;
  bool is_of_url = false;
  // -1: not said, or no size that a picture can have; pycocotools does not look.
  int64_t width = -1;
  int64_t height = -1;
};

// Annotation i is element i of all arrays.
struct CocoAnnotations {
  std::vector<int64_t> id;                // CocoFile::annotation_ids
  std::vector<int64_t> picture_id;        // CocoFile::picture_ids
  std::vector<int64_t> category_id;       // CocoFile::category_ids; empty when the first has none
  std::vector<float> box;                 // 4 each: x, y, width, height in pixels
  std::vector<uint8_t> is_crowd;          // 0 when it is not said, as pycocotools' users have it
  std::vector<FileRange> element;         // in the file, for its segmentation
  std::vector<std::string> segmentation;  // without such a file: its JSON, or ""
  std::vector<std::string> pose;          // AnnotatedSet::has_poses
  CocoNumbers area{.name = "area"};
  CocoNumbers num_keypoints{.name = "num_keypoints", .are_whole = true};
  // keypoints [3 K] as COCO has them; keypoints_cam [K, 3], keypoints_img [K, 2] and keypoints_vis
  // as MuCo and other sets of poses do.
  std::vector<CocoNumbers> arrays = {
      {"keypoints"}, {"keypoints_cam"}, {"keypoints_img"}, {"keypoints_vis"}};

  size_t size() const { return id.size(); }
};

struct CocoFile {
  std::vector<CocoPicture> pictures;  // in the file's order
  std::vector<CocoNumbers> picture_arrays = {
      {"f"}, {"c"}};                          // focal length and principal point of sets of poses
  std::map<int64_t, std::string> categories;  // names by CocoFile::category_ids
  bool has_categories = false;                // there is such a table
  CocoAnnotations annotations;
  CocoIds picture_ids;
  CocoIds annotation_ids;
  CocoIds category_ids;
  // Of a panoptic file: the PNG of each picture, empty where there is none. Its annotations are the
  // segments, whose ids are numbers in the PNG and no others' in the same picture.
  std::vector<std::string> panoptic_names;
  std::vector<std::string> notes;  // on what was passed over or taken otherwise
  // The annotations of picture i are order[first[i] .. first[i + 1]), in the file's order.
  std::vector<size_t> first;
  std::vector<size_t> order;
  // Annotations without a box that has an area, and segments without pixels, which are left out of
  // all above, and arrays that are zeros instead of what is no number: each with its picture's
  // number, sorted by it, and in words.
  std::vector<std::pair<int64_t, std::string>> left_out;

  std::span<const size_t> annotations_of(size_t picture) const {
    return std::span(order).subspan(first[picture], first[picture + 1] - first[picture]);
  }
  // Of a file of one picture that has all annotations.
  void give_all_to_one();
  // Reports those of a picture that were left out.
  void say_left_out(size_t picture, SampleBuffers& buffers) const;
};

// Takes what pycocotools takes, or throws Error with the file, the annotation's or picture's id,
// reason and remedy: no such JSON, no pictures, a missing or repeated id, no box at all, an
// annotation of a picture or category that is not there. `is_panoptic`: the file is a panoptic one,
// "segments_info" and all.
CocoFile read_coco_file(const InputFile& file, bool is_panoptic = false);

}  // namespace ffkit
