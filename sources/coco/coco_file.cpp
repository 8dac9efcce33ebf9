#include "coco/coco_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include <ffkit/base/option_names.h>
#include <ffkit/image/geometry_steps.h>

#include "converter/input/source_error.h"
#include "numbers/json_numbers.h"
#include "numbers/json_tables.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_id(std::string_view key, const std::string& what) {
  throw error_of(ErrorCode::invalid_argument, "'{}': {}", key, what);
}

namespace dom = simdjson::dom;

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

std::string coco_text(const dom::object& object, std::string_view key) {
  dom::element value;
  if (!find_member(object, key, value)) invalid(fmt::format("has no '{}'", key));
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    invalid(fmt::format("'{}': {} is not text", key, json_excerpt(value)));
  }
  return std::string(text);
}

// A side of a picture, or -1.
int64_t coco_side(const dom::object& object, std::string_view key) {
  dom::element value;
  if (!find_member(object, key, value)) return -1;
  try {
    return std::max<int64_t>(json_whole_number(value), -1);
  } catch (const Error&) {
    return -1;
  }
}

// 0 or 1 as a rule; false and true in files of some tools.
uint8_t coco_crowd(const dom::object& object) {
  dom::element value;
  if (!find_member(object, "iscrowd", value)) return 0;
  bool truth = false;
  if (value.get_bool().get(truth) == simdjson::SUCCESS) return truth ? 1 : 0;
  int64_t number = -1;
  try {
    number = json_whole_number(value);
  } catch (const Error&) {
  }
  if (number < 0 || number > UINT8_MAX) {
    invalid(fmt::format("'iscrowd': {} is neither 0 nor 1", json_excerpt(value)));
  }
  return static_cast<uint8_t>(number);
}

// The last two parts of the path that `url` has.
std::string end_of_url(std::string url) {
  url.resize(std::min(url.find_first_of("?#"), url.size()));
  const size_t last = url.rfind('/');
  const size_t before = last == 0 || last == std::string::npos ? last : url.rfind('/', last - 1);
  return before == std::string::npos ? url : url.substr(before + 1);
}

// Takes the numbers that `object` has under the name of `numbers`; empty arrays count as none.
void add_numbers(const dom::object& object, CocoNumbers& numbers) {
  dom::element value;
  if (!find_member(object, numbers.name, value)) return;
  const std::vector<int64_t> shape = json_shape(value);
  if (!shape.empty() && shape.back() == 0) return;
  if (numbers.count++ == 0) numbers.shape = shape;
  if (shape != numbers.shape) {
    numbers.is_uneven = true;
    std::vector<float>().swap(numbers.values);
  }
  if (numbers.is_uneven) return;
  try {
    append_numbers(value, std::span(std::as_const(numbers.shape)), numbers.values);
  } catch (const Error& error) {
    invalid(fmt::format("'{}': {}", numbers.name, error.what()));
  }
}

class CocoReader {
 public:
  CocoReader(const InputFile& file, bool allow_missing, bool is_panoptic)
      : path_(file.path()),
        allow_missing_(allow_missing),
        is_panoptic_(is_panoptic),
        input_(file) {}

  CocoFile read() {
    const std::array tables = {
        JsonTable{"images", "picture", [this] { begin_pictures(); },
                  [this](const dom::object& object, FileRange) { add_picture(object); }},
        JsonTable{"annotations", "annotation", [this] { begin_annotations(); },
                  [this](const dom::object& object, FileRange range) {
                    if (is_panoptic_) {
                      add_segments(object, range);
                    } else {
                      add_annotation(object, file_.picture_ids.take(object, "image_id"), range);
                    }
                  }},
        JsonTable{"categories", "category", [this] { begin_categories(); },
                  [this](const dom::object& object, FileRange) { add_category(object); }}};
    read_json_tables(input_, tables, file_.notes);
    if (file_.pictures.empty()) {
      throw source_error(path_, ErrorCode::invalid_argument,
                         "has no 'images': is it a COCO file of instances or keypoints?");
    }
    sort_annotations();
    if (is_panoptic_) {
      name_panoptic_files();
    } else {
      require_single_ids();
    }
    note_what_was_taken_otherwise();
    return std::move(file_);
  }

 private:
  // Ids stay: the other tables have them too.
  void begin_pictures() {
    file_.pictures.clear();
    file_.picture_arrays = CocoFile().picture_arrays;
    picture_of_.clear();
  }
  void begin_annotations() {
    file_.annotations = {};
    file_.without_area.clear();
    panoptic_name_of_.clear();
    num_without_box_ = 0;
  }
  void begin_categories() {
    file_.categories.clear();
    file_.has_categories = true;
  }

  void add_picture(const dom::object& object) {
    CocoPicture picture{.id = file_.picture_ids.take(object, "id")};
    if (!picture_of_.emplace(picture.id, file_.pictures.size()).second) {
      invalid("appears twice; remove one of the two (pycocotools would use the last)");
    }
    dom::element name;
    dom::element url;
    picture.is_of_url =
        !find_member(object, "file_name", name) && find_member(object, "coco_url", url);
    picture.file_name = picture.is_of_url ? end_of_url(coco_text(object, "coco_url"))
                                          : coco_text(object, "file_name");
    if (picture.is_of_url && (picture.file_name.empty() || picture.file_name.ends_with('/'))) {
      invalid("has no 'file_name', and its 'coco_url' does not end in one");
    }
    picture.width = coco_side(object, "width");
    picture.height = coco_side(object, "height");
    file_.pictures.push_back(std::move(picture));
    for (CocoNumbers& numbers : file_.picture_arrays) add_numbers(object, numbers);
  }

  void add_category(const dom::object& object) {
    const int64_t id = file_.category_ids.take(object, "id");
    std::string name = coco_text(object, "name");
    if (name.find("\xEF\xBF\xBD") != std::string::npos) {
      file_.notes.push_back(fmt::format(
          "{}: category {} is called '{}'; U+FFFD replaces characters that are not Unicode",
          path_.string(), file_.category_ids.json(id), name));
    }
    if (!file_.categories.emplace(id, std::move(name)).second) {
      invalid("appears twice; remove one of the two (pycocotools would use the last)");
    }
  }

  // The annotation of a picture in a panoptic file.
  void add_segments(const dom::object& object, FileRange range) {
    const int64_t picture = file_.picture_ids.take(object, "image_id");
    dom::element segments;
    dom::array array;
    if (!find_member(object, "segments_info", segments) ||
        segments.get_array().get(array) != simdjson::SUCCESS) {
      invalid("has no list 'segments_info': is it a panoptic file?");
    }
    if (!panoptic_name_of_.emplace(picture, coco_text(object, "file_name")).second) {
      invalid(fmt::format("is a second one of picture {}; remove one of the two",
                          file_.picture_ids.json(picture)));
    }
    for (const dom::element segment : array) {
      dom::object info;
      if (segment.get_object().get(info) != simdjson::SUCCESS) {
        invalid(fmt::format("'segments_info': {} is not an object", json_excerpt(segment)));
      }
      add_annotation(info, picture, range);
    }
  }

  void name_panoptic_files() {
    file_.panoptic_names.resize(file_.pictures.size());
    for (auto& [picture, name] : panoptic_name_of_) {
      const auto found = picture_of_.find(picture);
      if (found == picture_of_.end()) {
        throw source_error(path_, ErrorCode::invalid_argument,
                           "'{}' is of picture {}, which is not among the 'images'; remove it",
                           name, file_.picture_ids.json(picture));
      }
      file_.panoptic_names[found->second] = std::move(name);
    }
    if (file_.annotation_ids.is_text()) {
      throw source_error(path_, ErrorCode::invalid_argument,
                         "its segments have texts as ids, but numbers are in the PNGs; get the "
                         "file again");
    }
    std::vector<int64_t> ids;
    for (size_t i = 0; i < file_.pictures.size(); ++i) {
      ids.clear();
      for (const size_t k : file_.annotations_of(i)) ids.push_back(file_.annotations.id[k]);
      std::ranges::sort(ids);
      const auto twice = std::ranges::adjacent_find(ids);
      if (twice == ids.end()) continue;
      throw source_error(path_, ErrorCode::invalid_argument,
                         "two segments of '{}' have the id {}; remove one of the two",
                         file_.panoptic_names[i], *twice);
    }
  }

  // Of a panoptic file: a segment.
  void add_annotation(const dom::object& object, int64_t picture, FileRange range) {
    CocoAnnotations& all = file_.annotations;
    const int64_t id = file_.annotation_ids.take(object, "id");
    dom::element value;
    if (!has_box(object)) {
      if (!allow_missing_) {
        invalid("has no box in 'bbox'; give it one, or leave out annotations without a box with " +
                option_on("allow_missing"));
      }
      ++num_without_box_;
      return;
    }
    const bool has_category = find_member(object, "category_id", value);
    if (all.size() > 0 && has_category == all.category_id.empty()) {
      invalid("differs from those before it in having a 'category_id'");
    }
    if (has_category) {
      all.category_id.push_back(file_.category_ids.take(object, "category_id"));
    }
    all.id.push_back(id);
    all.picture_id.push_back(picture);
    add_box(object);
    if (!is_left(object)) file_.without_area.emplace_back(0, all.size() - 1);
    all.is_crowd.push_back(coco_crowd(object));
    all.element.push_back(range);
    add_numbers(object, all.area);
    add_numbers(object, all.num_keypoints);
    for (CocoNumbers& numbers : all.arrays) add_numbers(object, numbers);
  }

  // Tools write an empty list for none.
  static bool has_box(const dom::object& object) {
    dom::element box;
    dom::array numbers;
    if (!find_member(object, "bbox", box)) return false;
    return box.get_array().get(numbers) != simdjson::SUCCESS || numbers.begin() != numbers.end();
  }

  // What is no number is NaN, so the box has no area. NaN itself is a null here.
  void add_box(const dom::object& object) {
    dom::element box;
    find_member(object, "bbox", box);
    std::array<float, 4> sides;
    sides.fill(std::numeric_limits<float>::quiet_NaN());
    dom::array numbers;
    if (box.get_array().get(numbers) == simdjson::SUCCESS && numbers.size() == sides.size()) {
      for (size_t i = 0; i < sides.size(); ++i) {
        double number = 0;
        if (numbers.at(i).get_double().get(number) == simdjson::SUCCESS &&
            std::abs(number) <= std::numeric_limits<float>::max()) {
          sides[i] = static_cast<float>(number);
        }
      }
    }
    file_.annotations.box.insert(file_.annotations.box.end(), sides.begin(), sides.end());
  }

  // Of a panoptic file: whether the segment has pixels.
  bool is_left(const dom::object& object) const {
    const auto box = std::span(file_.annotations.box).last(4);
    const double left = box[0];
    const double top = box[1];
    if (!has_area({left, top, left + box[2], top + box[3]})) return false;
    dom::element area;
    double number = 0;
    return !is_panoptic_ || !find_member(object, "area", area) ||
           area.get_double().get(number) != simdjson::SUCCESS || number > 0;
  }

  // A counting sort, which keeps the file's order within a picture.
  void sort_annotations() {
    const CocoAnnotations& all = file_.annotations;
    std::vector<size_t> picture(all.size());
    file_.first.assign(file_.pictures.size() + 1, 0);
    std::vector<bool> is_left(all.size(), true);
    for (const auto& [_, annotation] : file_.without_area) is_left[annotation] = false;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto found = picture_of_.find(all.picture_id[i]);
      if (found == picture_of_.end()) {
        refuse(i, fmt::format("is of picture {}, which is not among the 'images'",
                              file_.picture_ids.json(all.picture_id[i])));
      }
      // As pycocotools, which does not look at categories where there is no such table.
      if (file_.has_categories && all.category_id.empty()) {
        refuse(i, "has no 'category_id', though there are 'categories'");
      }
      if (file_.has_categories && !file_.categories.contains(all.category_id[i])) {
        refuse(i, fmt::format("is of category {}, which is not among the 'categories'",
                              file_.category_ids.json(all.category_id[i])));
      }
      picture[i] = found->second;
      if (is_left[i]) ++file_.first[picture[i] + 1];
    }
    for (auto& [number, annotation] : file_.without_area) number = picture[annotation];
    std::ranges::sort(file_.without_area);
    for (size_t i = 1; i < file_.first.size(); ++i) file_.first[i] += file_.first[i - 1];
    file_.order.resize(file_.first.back());
    std::vector<size_t> next = file_.first;
    for (size_t i = 0; i < all.size(); ++i) {
      if (is_left[i]) file_.order[next[picture[i]]++] = i;
    }
  }

  // pycocotools gives the last one of an id in place of all others, so that their boxes are lost.
  void require_single_ids() const {
    const CocoAnnotations& all = file_.annotations;
    std::vector<size_t> by_id(all.size());
    std::iota(by_id.begin(), by_id.end(), size_t{0});
    std::ranges::sort(by_id, {}, [&](size_t i) { return all.id[i]; });
    const auto twice = std::ranges::adjacent_find(by_id, {}, [&](size_t i) { return all.id[i]; });
    if (twice == by_id.end()) return;
    throw source_error(path_, ErrorCode::invalid_argument,
                       "two annotations have the id {}(pycocotools would use the last one for "
                       "both); give each annotation an id of its own",
                       file_.annotation_ids.json(all.id[*twice]));
  }

  void note_what_was_taken_otherwise() {
    if (num_without_box_ > 0) {
      file_.notes.push_back(fmt::format("{}: {} of {} annotations have no box; left out",
                                        path_.string(), num_without_box_,
                                        num_without_box_ + file_.annotations.size()));
    }
    const auto note = [this](int64_t count, const char* what) {
      if (count == 0) return;
      file_.notes.push_back(
          fmt::format("{}: {} of {} {}", path_.string(), count, file_.pictures.size(), what));
    };
    note(std::ranges::count_if(file_.pictures,
                               [](const CocoPicture& p) { return p.width < 0 || p.height < 0; }),
         "pictures have no width and height in whole pixels; the pictures' own are stored");
    note(std::ranges::count(file_.pictures, true, &CocoPicture::is_of_url),
         "pictures have no 'file_name'; they are found by the end of their 'coco_url'");
  }

  [[noreturn]] void refuse(size_t annotation, const std::string& why) const {
    const CocoAnnotations& all = file_.annotations;
    throw source_error(path_, ErrorCode::invalid_argument,
                       "annotation {} {}; remove it, or take the file it belongs to",
                       file_.annotation_ids.json(all.id[annotation]), why);
  }

  const fs::path path_;
  const bool allow_missing_;
  const bool is_panoptic_;
  const InputFile& input_;
  CocoFile file_;
  std::unordered_map<int64_t, size_t> picture_of_;
  std::unordered_map<int64_t, std::string> panoptic_name_of_;  // by picture_ids
  size_t num_without_box_ = 0;
};

}  // namespace

int64_t CocoIds::take(const simdjson::dom::object& object, std::string_view key) {
  simdjson::dom::element value;
  if (!find_member(object, key, value)) {
    throw error_of(ErrorCode::invalid_argument, "has no '{}'", key);
  }
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    int64_t number = 0;
    try {
      number = json_whole_number(value);
    } catch (const Error& error) {
      refuse_id(key, error.what());
    }
    if (is_text()) {
      refuse_id(key, fmt::format("{} is a number, but ids before it are texts such as {}; Python "
                                 "treats them as different, so write all of them alike",
                                 number, json(0)));
    }
    has_numbers_ = true;
    return number;
  }
  if (has_numbers_) {
    refuse_id(key, fmt::format("{} is a text, but ids before it are numbers; Python treats them as "
                               "different, so write all of them alike",
                               json_excerpt(value)));
  }
  const auto [found, is_new] = number_of_.try_emplace(std::string(text), std::ssize(texts_));
  if (is_new) texts_.emplace_back(text);
  return found->second;
}

void CocoNumbers::declare(std::vector<int64_t> of_each) {
  size_t stride = 1;
  for (const int64_t extent : of_each) stride *= static_cast<size_t>(extent);
  shape = std::move(of_each);
  values.assign(stride, 0);
  count = 1;
}

void CocoFile::give_all_to_one() {
  first = {0, annotations.size()};
  order.resize(annotations.size());
  std::iota(order.begin(), order.end(), size_t{0});
}

void CocoFile::say_left_out(size_t picture, SampleBuffers& buffers) const {
  for (const auto& [number, i] : without_area) {
    if (number != picture) continue;
    const auto box = std::span(annotations.box).subspan(4 * i, 4);
    buffers.leave_out(fmt::format("annotation {} has no area: its box is ({:g})",
                                  annotation_ids.json(annotations.id[i]), fmt::join(box, ", ")));
  }
}

std::string CocoIds::json(int64_t number) const {
  return is_text() ? nlohmann::json(text(number)).dump() : std::to_string(number);
}

CocoFile read_coco_file(const InputFile& file, bool allow_missing, bool is_panoptic) {
  return CocoReader(file, allow_missing, is_panoptic).read();
}

}  // namespace ffkit
