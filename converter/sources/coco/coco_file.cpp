#include "sources/coco/coco_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <unordered_map>

#include <ffkit/format/error.h>

#include "sources/numbers/json_elements.h"
#include "sources/numbers/json_numbers.h"

namespace ffkit {
namespace {

namespace dom = simdjson::dom;

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

bool find(const dom::object& object, std::string_view key, dom::element& value) {
  return object.at_key(key).get(value) == simdjson::SUCCESS && !value.is_null();
}

dom::element require(const dom::object& object, std::string_view key) {
  dom::element value;
  if (!find(object, key, value)) invalid(fmt::format("has no '{}'", key));
  return value;
}

template <typename T>
T number(const dom::object& object, std::string_view key) {
  try {
    return json_number<T>(require(object, key));
  } catch (const Error& error) {
    invalid(fmt::format("'{}': {}", key, error.what()));
  }
}

std::string text(const dom::object& object, std::string_view key) {
  std::string_view value;
  if (require(object, key).get_string().get(value) != simdjson::SUCCESS) {
    invalid(fmt::format("'{}' is no text", key));
  }
  return std::string(value);
}

// Takes the numbers that `object` has under the name of `numbers`; empty arrays count as none.
void add_numbers(const dom::object& object, CocoNumbers& numbers) {
  dom::element value;
  if (!find(object, numbers.name, value)) return;
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

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), input_(path) {}

  CocoFile read() {
    JsonElements elements(input_);
    while (elements.next()) {
      const std::string& key = elements.key();
      if (key != "images" && key != "annotations" && key != "categories") continue;
      try {
        const dom::object object = parse(elements.text());
        if (key == "images") add_picture(object);
        if (key == "annotations") add_annotation(object, elements.range());
        if (key == "categories") add_category(object);
      } catch (const Error& error) {
        throw Error(error.code(), fmt::format("an element of '{}' {}", key, error.what()),
                    {.path = path_.string(), .offset = elements.range().offset});
      }
    }
    if (file_.pictures.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "has no 'images': is it a COCO file of instances or keypoints?",
                  {.path = path_.string()});
    }
    sort_annotations();
    return std::move(file_);
  }

 private:
  dom::object parse(std::span<const char> element) {
    dom::object object;
    const auto error =
        parser_.parse(element.data(), element.size(), false).get_object().get(object);
    if (error != simdjson::SUCCESS) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("is no JSON object: {}", simdjson::error_message(error)));
    }
    return object;
  }

  void add_picture(const dom::object& object) {
    const auto id = number<int64_t>(object, "id");
    if (!picture_of_.emplace(id, file_.pictures.size()).second) {
      invalid(fmt::format("is a second picture of id {}", id));
    }
    file_.pictures.push_back({id, text(object, "file_name"), number<int64_t>(object, "width"),
                              number<int64_t>(object, "height")});
    for (CocoNumbers& numbers : file_.picture_arrays) add_numbers(object, numbers);
  }

  void add_category(const dom::object& object) {
    file_.has_categories = true;
    const auto id = number<int64_t>(object, "id");
    if (!file_.categories.emplace(id, text(object, "name")).second) {
      invalid(fmt::format("is a second category of id {}", id));
    }
  }

  void add_annotation(const dom::object& object, FileRange range) {
    CocoAnnotations& all = file_.annotations;
    all.id.push_back(number<int64_t>(object, "id"));
    all.picture_id.push_back(number<int64_t>(object, "image_id"));
    dom::element value;
    const bool has_category = find(object, "category_id", value);
    if (all.size() > 1 && has_category == all.category_id.empty()) {
      invalid("differs from those before it in having a 'category_id'");
    }
    if (has_category) all.category_id.push_back(number<int64_t>(object, "category_id"));
    const dom::element box = require(object, "bbox");
    constexpr int64_t kBox[] = {4};
    try {
      append_numbers(box, std::span(kBox), all.box);
    } catch (const Error& error) {
      invalid(fmt::format("'bbox': {}", error.what()));
    }
    const bool has_crowd = find(object, "iscrowd", value);
    all.is_crowd.push_back(has_crowd ? number<uint8_t>(object, "iscrowd") : uint8_t{0});
    all.element.push_back(range);
    add_numbers(object, all.area);
    add_numbers(object, all.num_keypoints);
    for (CocoNumbers& numbers : all.arrays) add_numbers(object, numbers);
  }

  // A counting sort, which keeps the file's order within a picture.
  void sort_annotations() {
    const CocoAnnotations& all = file_.annotations;
    std::vector<size_t> picture(all.size());
    file_.first.assign(file_.pictures.size() + 1, 0);
    for (size_t i = 0; i < all.size(); ++i) {
      const auto found = picture_of_.find(all.picture_id[i]);
      if (found == picture_of_.end()) {
        refuse(i,
               fmt::format("is of picture {}, which is not among the 'images'", all.picture_id[i]));
      }
      if (!all.category_id.empty() && !file_.categories.contains(all.category_id[i])) {
        refuse(i, fmt::format("is of category {}, which is not among the 'categories'",
                              all.category_id[i]));
      }
      picture[i] = found->second;
      ++file_.first[picture[i] + 1];
    }
    for (size_t i = 1; i < file_.first.size(); ++i) file_.first[i] += file_.first[i - 1];
    file_.order.resize(all.size());
    std::vector<size_t> next = file_.first;
    for (size_t i = 0; i < all.size(); ++i) file_.order[next[picture[i]]++] = i;
  }

  [[noreturn]] void refuse(size_t annotation, const std::string& why) const {
    const CocoAnnotations& all = file_.annotations;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("annotation {} {}; remove it, or take the file it belongs to",
                            all.id[annotation], why),
                {.path = path_.string(), .offset = all.element[annotation].offset});
  }

  const std::filesystem::path path_;
  const InputFile input_;
  dom::parser parser_;
  CocoFile file_;
  std::unordered_map<int64_t, size_t> picture_of_;
};

}  // namespace

CocoFile read_coco_file(const std::filesystem::path& path) {
  return Reader(path).read();
}

}  // namespace ffkit
