#include "coco/coco_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

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

std::string coco_text(const dom::object& object, std::string_view key) {
  dom::element value;
  if (!find_member(object, key, value)) refuse_argument(fmt::format("has no '{}'", key));
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    refuse_argument(fmt::format("'{}': {} is not text", key, json_excerpt(value)));
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
    refuse_argument(fmt::format("'iscrowd': {} is neither 0 nor 1", json_excerpt(value)));
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

size_t stride_of(std::span<const int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

// Takes the numbers that `object` has under the name of `numbers`; empty arrays count as none. For
// what is no number there are zeros, points that are not labelled. Returns why, or nothing.
std::string add_numbers(const dom::object& object, CocoNumbers& numbers) {
  dom::element value;
  if (!find_member(object, numbers.name, value)) return {};
  const std::vector<int64_t> shape = json_shape(value);
  if (!shape.empty() && shape.back() == 0) return {};
  if (numbers.count++ == 0) numbers.shape = shape;
  if (shape != numbers.shape) {
    numbers.is_uneven = true;
    std::vector<float>().swap(numbers.values);
  }
  if (numbers.is_uneven) return {};
  const size_t before = numbers.values.size();
  try {
    append_numbers(value, std::span(std::as_const(numbers.shape)), numbers.values);
  } catch (const Error& error) {
    numbers.values.resize(before);
    numbers.values.resize(before + stride_of(shape));
    return fmt::format("has zeros as '{}': {}", numbers.name, error.what());
  }
  return {};
}

class CocoReader {
 public:
  CocoReader(const InputFile& file, bool is_panoptic)
      : path_(file.path()), is_panoptic_(is_panoptic), input_(file) {}

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
                         "the file has no 'images'; give a COCO file of instances or keypoints");
    }
    if (file_.annotations.size() == 0 && !file_.left_out.empty() && !file_.has_categories) {
      throw source_error(path_, ErrorCode::invalid_argument,
                         "the file has {} annotations, but no annotation has a box, and there are "
                         "no 'categories'; give a COCO file of instances or keypoints",
                         file_.left_out.size());
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
    file_.left_out.clear();
    panoptic_name_of_.clear();
  }
  void begin_categories() {
    file_.categories.clear();
    file_.has_categories = true;
  }

  void add_picture(const dom::object& object) {
    CocoPicture picture{.id = file_.picture_ids.take(object, "id")};
    if (!picture_of_.emplace(picture.id, file_.pictures.size()).second) {
      refuse_argument(
          "appears twice, and pycocotools would use only the second entry; remove one of the two "
          "entries");
    }
    dom::element name;
    dom::element url;
    picture.is_of_url =
        !find_member(object, "file_name", name) && find_member(object, "coco_url", url);
    picture.file_name = picture.is_of_url ? end_of_url(coco_text(object, "coco_url"))
                                          : coco_text(object, "file_name");
    if (picture.is_of_url && (picture.file_name.empty() || picture.file_name.ends_with('/'))) {
      refuse_argument(
          "has no 'file_name', and the 'coco_url' of the picture does not end with a file name");
    }
    picture.width = coco_side(object, "width");
    picture.height = coco_side(object, "height");
    file_.pictures.push_back(std::move(picture));
    for (CocoNumbers& numbers : file_.picture_arrays) {
      if (const std::string fault = add_numbers(object, numbers); !fault.empty())
        refuse_argument(fault);
    }
  }

  void add_category(const dom::object& object) {
    const int64_t id = file_.category_ids.take(object, "id");
    std::string name = coco_text(object, "name");
    if (name.find("\xEF\xBF\xBD") != std::string::npos) {
      add_note(file_.notes, path_.string(),
               "category {} is called '{}'; U+FFFD replaces characters that are not Unicode",
               file_.category_ids.json(id), name);
    }
    if (!file_.categories.emplace(id, std::move(name)).second) {
      refuse_argument(
          "appears twice, and pycocotools would use only the second entry; remove one of the two "
          "entries");
    }
  }

  // The annotation of a picture in a panoptic file.
  void add_segments(const dom::object& object, FileRange range) {
    const int64_t picture = file_.picture_ids.take(object, "image_id");
    dom::element segments;
    dom::array array;
    if (!find_member(object, "segments_info", segments) ||
        segments.get_array().get(array) != simdjson::SUCCESS) {
      refuse_argument(
          "has no list 'segments_info', so this is not a panoptic file; give a panoptic file");
    }
    if (!panoptic_name_of_.emplace(picture, coco_text(object, "file_name")).second) {
      refuse_argument(
          fmt::format("is a second annotation of picture {}; remove one of the two annotations",
                      file_.picture_ids.json(picture)));
    }
    for (const dom::element segment : array) {
      dom::object info;
      if (segment.get_object().get(info) != simdjson::SUCCESS) {
        refuse_argument(
            fmt::format("has the element {} in 'segments_info', but each element must be an object",
                        json_excerpt(segment)));
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
                           "the file '{}' belongs to picture {}, but 'images' does not contain "
                           "this picture; remove the annotation of this picture",
                           name, file_.picture_ids.json(picture));
      }
      file_.panoptic_names[found->second] = std::move(name);
    }
    if (file_.annotation_ids.is_text()) {
      throw source_error(path_, ErrorCode::invalid_argument,
                         "the ids of the segments are texts, but the PNGs contain numbers; "
                         "download the file again");
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
    const Sides box = box_of(object);
    const auto leave_out = [&](const std::string& fault) {
      if (fault.empty()) return false;
      file_.left_out.emplace_back(
          picture, fmt::format("annotation {} {}", file_.annotation_ids.json(id), fault));
      return true;
    };
    if (leave_out(fault_of(object, box))) return;
    const bool has_category = find_member(object, "category_id", value);
    if (all.size() > 0 && has_category == all.category_id.empty()) {
      refuse_argument(fmt::format("has {} 'category_id', but earlier annotations have {}",
                                  has_category ? "a" : "no", has_category ? "none" : "one"));
    }
    if (has_category) {
      all.category_id.push_back(file_.category_ids.take(object, "category_id"));
    }
    all.id.push_back(id);
    all.picture_id.push_back(picture);
    all.box.insert(all.box.end(), box.begin(), box.end());
    all.is_crowd.push_back(coco_crowd(object));
    all.element.push_back(range);
    leave_out(add_numbers(object, all.area));
    leave_out(add_numbers(object, all.num_keypoints));
    for (CocoNumbers& numbers : all.arrays) leave_out(add_numbers(object, numbers));
  }

  using Sides = std::array<float, 4>;

  // Of what is no box, NaN. NaN itself is a null here.
  static Sides box_of(const dom::object& object) {
    Sides box;
    box.fill(std::numeric_limits<float>::quiet_NaN());
    if (dom::element value; find_member(object, "bbox", value)) {
      numbers_or_nan(value, std::span<float>(box));
    }
    return box;
  }

  // Why an annotation of this box is left out; of a panoptic file: a segment. Empty if it stays.
  std::string fault_of(const dom::object& object, const Sides& box) const {
    dom::element value;
    dom::array numbers;
    // Tools write an empty list for none.
    if (!find_member(object, "bbox", value) ||
        (value.get_array().get(numbers) == simdjson::SUCCESS && numbers.begin() == numbers.end())) {
      return "has no box in 'bbox'";
    }
    const double left = box[0];
    const double top = box[1];
    if (!has_area({left, top, left + box[2], top + box[3]})) {
      return fmt::format("has no area: its box is {}", json_excerpt(value));
    }
    double area = 1;
    return is_panoptic_ && find_member(object, "area", value) &&
                   value.get_double().get(area) == simdjson::SUCCESS && !(area > 0)
               ? "has no pixels"
               : "";
  }

  // A counting sort, which keeps the file's order within a picture.
  void sort_annotations() {
    const CocoAnnotations& all = file_.annotations;
    std::vector<size_t> picture(all.size());
    file_.first.assign(file_.pictures.size() + 1, 0);
    for (size_t i = 0; i < all.size(); ++i) {
      const auto found = picture_of_.find(all.picture_id[i]);
      if (found == picture_of_.end()) {
        refuse(i, fmt::format("belongs to picture {}, which is not in 'images'",
                              file_.picture_ids.json(all.picture_id[i])));
      }
      // As pycocotools, which does not look at categories where there is no such table.
      if (file_.has_categories && all.category_id.empty()) {
        refuse(i, "has no 'category_id', but the file has 'categories'");
      }
      if (file_.has_categories && !file_.categories.contains(all.category_id[i])) {
        refuse(i, fmt::format("has category {}, which is not in 'categories'",
                              file_.category_ids.json(all.category_id[i])));
      }
      picture[i] = found->second;
      ++file_.first[picture[i] + 1];
    }
    for (auto& [of, what] : file_.left_out) {
      const auto found = picture_of_.find(of);
      if (found == picture_of_.end()) {
        throw source_error(path_, ErrorCode::invalid_argument,
                           "{}, and belongs to picture {}, which is not in 'images'; remove it",
                           what, file_.picture_ids.json(of));
      }
      of = static_cast<int64_t>(found->second);
    }
    std::ranges::stable_sort(file_.left_out, {}, &std::pair<int64_t, std::string>::first);
    for (size_t i = 1; i < file_.first.size(); ++i) file_.first[i] += file_.first[i - 1];
    file_.order.resize(file_.first.back());
    std::vector<size_t> next = file_.first;
    for (size_t i = 0; i < all.size(); ++i) {
      file_.order[next[picture[i]]++] = i;
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
                       "two annotations have the id {}, and pycocotools would use only the second "
                       "annotation; give each annotation its own id",
                       file_.annotation_ids.json(all.id[*twice]));
  }

  void note_what_was_taken_otherwise() {
    const auto note = [this](int64_t count, const char* what) {
      if (count == 0) return;
      add_note(file_.notes, path_.string(), "{} of {} {}", count, file_.pictures.size(), what);
    };
    note(std::ranges::count_if(file_.pictures,
                               [](const CocoPicture& p) { return p.width < 0 || p.height < 0; }),
         "pictures have no width and height in whole pixels; the sizes in the files are stored");
    note(std::ranges::count(file_.pictures, true, &CocoPicture::is_of_url),
         "pictures have no 'file_name'; they are found by the end of 'coco_url'");
  }

  [[noreturn]] void refuse(size_t annotation, const std::string& why) const {
    const CocoAnnotations& all = file_.annotations;
    throw source_error(path_, ErrorCode::invalid_argument,
                       "annotation {} {}; remove it, or give the file that it belongs to",
                       file_.annotation_ids.json(all.id[annotation]), why);
  }

  const fs::path path_;
  const bool is_panoptic_;
  const InputFile& input_;
  CocoFile file_;
  std::unordered_map<int64_t, size_t> picture_of_;
  std::unordered_map<int64_t, std::string> panoptic_name_of_;  // by picture_ids
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
      refuse_id(key,
                fmt::format(
                    "{} is a number, but earlier ids are texts such as {}, and Python does not "
                    "treat such ids as equal; write all ids as numbers, or write all ids as texts",
                    number, json(0)));
    }
    has_numbers_ = true;
    return number;
  }
  if (has_numbers_) {
    refuse_id(key, fmt::format("{} is a text, but earlier ids are numbers; write all as one type, "
                               "because Python treats them as different",
                               json_excerpt(value)));
  }
  const auto [found, is_new] = number_of_.try_emplace(std::string(text), std::ssize(texts_));
  if (is_new) texts_.emplace_back(text);
  return found->second;
}

void CocoNumbers::declare(std::vector<int64_t> of_each) {
  shape = std::move(of_each);
  values.assign(stride_of(shape), 0);
  count = 1;
}

void CocoFile::give_all_to_one() {
  first = {0, annotations.size()};
  order.resize(annotations.size());
  std::iota(order.begin(), order.end(), size_t{0});
}

void CocoFile::say_left_out(size_t picture, SampleBuffers& buffers) const {
  const auto number = static_cast<int64_t>(picture);
  auto it = std::ranges::lower_bound(left_out, number, {}, &std::pair<int64_t, std::string>::first);
  for (; it != left_out.end() && it->first == number; ++it) buffers.leave_out(it->second);
}

std::string CocoIds::json(int64_t number) const {
  return is_text() ? nlohmann::json(text(number)).dump() : std::to_string(number);
}

CocoFile read_coco_file(const InputFile& file, bool is_panoptic) {
  return CocoReader(file, is_panoptic).read();
}

}  // namespace ffkit
