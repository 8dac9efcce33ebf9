#include "yolo/yolo_files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include <ffkit/image/geometry_steps.h>

#include "base/file/user_text.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "coco/labelled_split.h"
#include "converter/input/source_error.h"
#include "files/text_files.h"

namespace ffkit {
namespace {

constexpr size_t kBoxNumbers = 5;  // class, x, y, width, height
// As far as Ultralytics lets shares be beyond 0 and 1, for roundings.
constexpr double kTolerance = 0.01;

using Numbers = std::vector<double>;

// Sets `fault` where the line is none.
Numbers numbers_of(std::string_view line, std::string& fault) {
  constexpr std::string_view kSpaces = " \t\v\f\r";
  Numbers numbers;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
    if (line.empty()) return numbers;
    const std::string_view word = line.substr(0, line.find_first_of(kSpaces));
    const auto number = number_of_text<double>(word);
    if (!number || !std::isfinite(*number)) {
      fault = fmt::format("'{}' is not a number", printable(word.substr(0, 20)));
      return numbers;
    }
    numbers.push_back(*number);
    line.remove_prefix(word.size());
  }
}

class LabelParser {
 public:
  LabelParser(const DataYaml& yaml, size_t number, PixelSize size, bool has_polygons)
      : yaml_(yaml), number_(number), size_(size), has_polygons_(has_polygons) {}

  // What is wrong with the line; empty: it is taken, or has nothing.
  std::string add(std::string_view line, int64_t k) {
    std::string fault;
    const Numbers numbers = numbers_of(line, fault);
    if (!fault.empty() || numbers.empty()) return fault;
    if (fault = fault_of(numbers); !fault.empty()) return fault;
    if (!seen_.insert(numbers).second) return "appears a second time";
    const BoxEdges box = is_polygon(numbers) ? box_around(numbers) : box_of(numbers);
    if (!has_area(box)) return "has no area";
    add_annotation(numbers, box, k);
    return {};
  }

  CocoFile take() {
    file_.give_all_to_one();
    return std::move(file_);
  }

 private:
  bool is_polygon(const Numbers& numbers) const {
    return yaml_.num_keypoints == 0 && numbers.size() > kBoxNumbers;
  }
  size_t num_point_numbers() const {
    return static_cast<size_t>(yaml_.num_keypoints * yaml_.keypoint_width);
  }

  std::string fault_of(const Numbers& numbers) const {
    const double label = numbers.front();
    if (label < 0 || label != std::floor(label) ||
        label >= static_cast<double>(yaml_.names.size())) {
      return fmt::format("its class is {}, expected 0 to {}", label, yaml_.names.size() - 1);
    }
    if (yaml_.num_keypoints > 0) {
      const size_t wanted = kBoxNumbers + num_point_numbers();
      if (numbers.size() != wanted) {
        return fmt::format("has {} numbers, but 'kpt_shape' needs {}", numbers.size(), wanted);
      }
    } else if (numbers.size() != kBoxNumbers && (numbers.size() < 7 || numbers.size() % 2 == 0)) {
      return fmt::format(
          "has {} numbers; a box has 5, and a polygon has its class and x and y of at least three "
          "points",
          numbers.size());
    }
    for (size_t i = 1; i < numbers.size(); ++i) {
      const bool is_visibility =
          yaml_.keypoint_width == 3 && i >= kBoxNumbers && (i - kBoxNumbers) % 3 == 2;
      if (numbers[i] >= -kTolerance && (numbers[i] <= 1 + kTolerance || is_visibility)) continue;
      return fmt::format("{} is not a share of a side, expected 0 to 1", numbers[i]);
    }
    return {};
  }

  BoxEdges box_of(const Numbers& numbers) const {
    const double left = numbers[1] - numbers[3] / 2;
    const double top = numbers[2] - numbers[4] / 2;
    return {left * size_.width, top * size_.height, (left + numbers[3]) * size_.width,
            (top + numbers[4]) * size_.height};
  }

  BoxEdges box_around(const Numbers& numbers) const {
    BoxEdges box = {numbers[1], numbers[2], numbers[1], numbers[2]};
    for (size_t i = 3; i < numbers.size(); i += 2) {
      box = {std::min(box[0], numbers[i]), std::min(box[1], numbers[i + 1]),
             std::max(box[2], numbers[i]), std::max(box[3], numbers[i + 1])};
    }
    return {box[0] * size_.width, box[1] * size_.height, box[2] * size_.width,
            box[3] * size_.height};
  }

  void add_annotation(const Numbers& numbers, const BoxEdges& box, int64_t k) {
    CocoAnnotations& all = file_.annotations;
    add_labelled(number_, k, static_cast<int64_t>(numbers.front()) + 1, box, all);
    double area = (box[2] - box[0]) * (box[3] - box[1]);
    all.segmentation.emplace_back();
    if (is_polygon(numbers)) {
      Numbers xy(numbers.begin() + 1, numbers.end());
      for (size_t i = 0; i < xy.size(); ++i) xy[i] *= i % 2 == 0 ? size_.width : size_.height;
      if (has_polygons_) all.segmentation.back() = fmt::format("[[{}]]", fmt::join(xy, ","));
      area = area_of(xy);
    }
    all.area.add(std::array{static_cast<float>(area)});
    if (yaml_.num_keypoints > 0) add_keypoints(std::span(numbers).subspan(kBoxNumbers));
  }

  static double area_of(const Numbers& xy) {
    double twice = 0;
    for (size_t i = 0; i < xy.size(); i += 2) {
      const size_t next = (i + 2) % xy.size();
      twice += xy[i] * xy[next + 1] - xy[next] * xy[i + 1];
    }
    return std::abs(twice) / 2;
  }

  void add_keypoints(std::span<const double> points) {
    std::vector<float> xyv;
    int64_t num_seen = 0;
    const auto width = static_cast<size_t>(yaml_.keypoint_width);
    for (size_t i = 0; i < points.size(); i += width) {
      const double seen = width == 3 ? points[i + 2] : 2;
      xyv.push_back(static_cast<float>(points[i] * size_.width));
      xyv.push_back(static_cast<float>(points[i + 1] * size_.height));
      xyv.push_back(static_cast<float>(seen));
      if (seen > 0) ++num_seen;
    }
    file_.annotations.arrays.front().add(xyv);
    file_.annotations.num_keypoints.add(std::array{static_cast<float>(num_seen)});
  }

  const DataYaml& yaml_;
  const size_t number_;
  const PixelSize size_;
  const bool has_polygons_;
  CocoFile file_;
  std::set<Numbers> seen_;
};

// A scalar, a list or a mapping of scalars.
struct YamlValue {
  std::string scalar;
  bool is_list = false;
  bool is_mapping = false;
  std::vector<std::pair<std::string, std::string>> items;  // of a list: without keys
};

class YamlReader {
 public:
  YamlReader(std::string_view text, const fs::path& file) : text_(text), rest_(text), file_(file) {}

  // Goes to the next member of the outermost mapping; false at the end.
  bool next(std::string& key) {
    for (; !rest_.empty(); skip_line()) {
      // Of the member before, a comment, or a mark of the document.
      if (std::string_view(" \t\r\n#-.%").find(rest_.front()) != std::string_view::npos) continue;
      key = take_key(/*in_brackets=*/false);
      return true;
    }
    return false;
  }

  YamlValue value() {
    YamlValue value;
    skip_spaces();
    if (rest_.starts_with('[') || rest_.starts_with('{')) {
      take_brackets(value);
    } else if (!at_end_of_line()) {
      value.scalar = take_scalar(/*in_brackets=*/false, /*is_key=*/false);
    } else {
      end_line();
      take_block(value);
      return value;
    }
    end_line();
    return value;
  }

  // Passes over the value of the member; what is indented, next() passes over.
  void skip_value() {
    skip_spaces();
    int depth = 0;
    for (char quote = 0; !rest_.empty() && (depth > 0 || rest_.front() != '\n');) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (depth > 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if (c == ']' || c == '}') {
        --depth;
      }
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    const auto line = std::ranges::count(text_.substr(0, text_.size() - rest_.size()), '\n') + 1;
    throw source_error(file_, ErrorCode::invalid_argument, "line {}: {}", line, why);
  }

 private:
  void skip_line() { rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size() - 1) + 1); }
  void skip_spaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
  }
  bool at_end_of_line() const {
    return rest_.empty() || rest_.front() == '\n' || rest_.front() == '#';
  }
  void end_line() {
    skip_spaces();
    if (!at_end_of_line()) {
      refuse(fmt::format("found an unexpected '{}'", printable(rest_.substr(0, 20))));
    }
    if (!rest_.empty()) skip_line();
  }

  std::string take_key(bool in_brackets) {
    std::string key = take_scalar(in_brackets, /*is_key=*/true);
    skip_spaces();
    if (!rest_.starts_with(':')) refuse(fmt::format("'{}' has no ':' after it", printable(key)));
    rest_.remove_prefix(1);
    return key;
  }

  std::string take_scalar(bool in_brackets, bool is_key) {
    if (rest_.starts_with('\'') || rest_.starts_with('"')) return take_quoted();
    if (rest_.find_first_of("&*!|>@`") == 0) {
      refuse(
          fmt::format("begins with '{}', but ffkit does not read anchors, tags and texts of "
                      "several lines; write the value itself",
                      rest_.front()));
    }
    size_t size = 0;
    for (; size < rest_.size() && rest_[size] != '\n'; ++size) {
      const char c = rest_[size];
      const char after = size + 1 < rest_.size() ? rest_[size + 1] : '\n';
      if (c == '#' && (size == 0 || rest_[size - 1] == ' ' || rest_[size - 1] == '\t')) break;
      if (in_brackets && std::string_view(",[]{}").find(c) != std::string_view::npos) break;
      const bool is_end = std::string_view(" \t\r\n,]}").find(after) != std::string_view::npos;
      if (is_key && c == ':' && is_end) break;
    }
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    taken = taken.substr(0, taken.find_last_not_of(" \t\r") + 1);
    return std::string(taken);
  }

  std::string take_quoted() {
    const char quote = rest_.front();
    std::string text;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == quote && quote == '\'' && rest_.substr(i + 1).starts_with(quote)) {
        text += rest_[++i];
      } else if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return text;
      } else if (rest_[i] == '\n') {
        break;
      } else if (rest_[i] == '\\' && quote == '"') {
        const char escaped = rest_.substr(i + 1).empty() ? '\n' : rest_[++i];
        if (std::string_view("\"\\/ ").find(escaped) == std::string_view::npos) {
          refuse(fmt::format("'\\{}' in quotation marks is not read; write the character itself",
                             printable({&escaped, 1})));
        }
        text += escaped;
      } else {
        text += rest_[i];
      }
    }
    refuse("a text in quotation marks does not end on its line");
  }

  void skip_to_item() {
    for (skip_spaces(); !rest_.empty() && at_end_of_line(); skip_spaces()) skip_line();
  }

  // [a, b] or {0: a, 1: b}, on one line or several.
  void take_brackets(YamlValue& value) {
    value.is_list = rest_.front() == '[';
    value.is_mapping = !value.is_list;
    const char close = value.is_list ? ']' : '}';
    rest_.remove_prefix(1);
    for (skip_to_item(); !rest_.starts_with(close); skip_to_item()) {
      std::string key;
      if (value.is_mapping) key = take_key(/*in_brackets=*/true);
      skip_to_item();
      if (rest_.starts_with('[') || rest_.starts_with('{')) {
        refuse("ffkit does not read a list inside a list here");
      }
      value.items.emplace_back(std::move(key), take_scalar(/*in_brackets=*/true, /*is_key=*/false));
      skip_to_item();
      if (rest_.starts_with(',')) {
        rest_.remove_prefix(1);
      } else if (!rest_.starts_with(close)) {
        refuse(fmt::format("has no '{}'", close));
      }
    }
    rest_.remove_prefix(1);
  }

  // Lines of equal indentation, "- a" or "0: a"; none: the value is empty.
  void take_block(YamlValue& value) {
    std::optional<size_t> indent;
    while (!rest_.empty()) {
      const std::string_view line = rest_.substr(0, rest_.find('\n'));
      const size_t own = std::min(line.find_first_not_of(" \r"), line.size());
      if (own == line.size() || line[own] == '#') {
        skip_line();
        continue;
      }
      const std::string_view item = line.substr(own);
      const bool is_item = item == "-" || item.starts_with("- ") || item.starts_with("-\t");
      if ((own == 0 && !is_item) || (indent && own < *indent)) return;
      if (!indent) {
        indent = own;
        value.is_list = is_item;
        value.is_mapping = !is_item;
      }
      rest_.remove_prefix(own);
      if (own != *indent || is_item != value.is_list || item.starts_with('\t')) {
        refuse("has another indentation than the lines before it, or is not an item of their list");
      }
      std::string key;
      if (is_item) {
        rest_.remove_prefix(1);
      } else {
        key = take_key(/*in_brackets=*/false);
      }
      skip_spaces();
      value.items.emplace_back(std::move(key),
                               take_scalar(/*in_brackets=*/false, /*is_key=*/false));
      end_line();
    }
  }

  const std::string_view text_;
  std::string_view rest_;
  const fs::path& file_;
};

std::optional<int64_t> number_of(std::string_view text) {
  const auto number = number_of_text<int64_t>(text);
  return number >= 0 ? number : std::nullopt;
}

std::vector<std::string> names_of(const YamlValue& value, const YamlReader& reader) {
  std::vector<std::string> names(value.items.size());
  if (!value.is_list && !value.is_mapping) reader.refuse("'names' is neither a list nor a mapping");
  std::vector<bool> is_there(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const auto& [key, name] = value.items[i];
    const auto at = value.is_list ? std::optional(static_cast<int64_t>(i)) : number_of(key);
    if (!at || *at >= std::ssize(names) || is_there[static_cast<size_t>(*at)]) {
      reader.refuse(fmt::format(
          "'names' has {} classes, so it needs each number from 0 to {} once; '{}' does not fit",
          names.size(), names.size() - 1, printable(key)));
    }
    names[static_cast<size_t>(*at)] = name;
    is_there[static_cast<size_t>(*at)] = true;
  }
  return names;
}

std::vector<std::string> places_of(const YamlValue& value, const YamlReader& reader) {
  if (value.is_mapping) reader.refuse("a split is a path or a list of paths, not a mapping");
  std::vector<std::string> places;
  for (const auto& [_, place] : value.items) places.push_back(place);
  if (!value.is_list) places = {value.scalar};
  std::erase_if(places, [](const std::string& place) {
    return place.empty() || place == "~" || place == "null";
  });
  return places;
}

}  // namespace

void declare_yolo_arrays(const DataYaml& yaml, CocoAnnotations& annotations) {
  if (yaml.num_keypoints == 0) return;
  annotations.arrays.front().declare({yaml.num_keypoints, 3});
  annotations.num_keypoints.declare({});
}

CocoFile parse_yolo_labels(std::string_view text, const DataYaml& yaml, size_t number,
                           PixelSize size, bool has_polygons,
                           const std::function<void(const std::string& why)>& leave_out) {
  LabelParser parser(yaml, number, size, has_polygons);
  for_each_line(text, [&](std::string_view line, int64_t k) {
    if (const std::string fault = parser.add(line, k); !fault.empty()) {
      leave_out(fmt::format("line {}: {}", k, fault));
    }
  });
  return parser.take();
}

DataYaml parse_data_yaml(std::string_view text, const fs::path& file) {
  DataYaml yaml;
  YamlReader reader(without_byte_order_mark(text), file);
  if (!is_utf8(text)) reader.refuse("is not UTF-8 text");
  std::optional<int64_t> num_classes;
  for (std::string key; reader.next(key);) {
    if (key == "path") {
      yaml.path = reader.value().scalar;
    } else if (key == "train" || key == "val" || key == "validation" || key == "test") {
      yaml.splits[key == "validation" ? "val" : key] = places_of(reader.value(), reader);
    } else if (key == "names") {
      yaml.names = names_of(reader.value(), reader);
    } else if (key == "nc") {
      num_classes = number_of(reader.value().scalar);
      if (!num_classes) reader.refuse("'nc' is not a number of classes");
    } else if (key == "kpt_shape") {
      const YamlValue shape = reader.value();
      if (shape.items.size() == 2) {
        yaml.num_keypoints = number_of(shape.items[0].second).value_or(0);
        yaml.keypoint_width = number_of(shape.items[1].second).value_or(0);
      }
      constexpr int64_t kMaxKeypoints = 10'000;
      if (yaml.num_keypoints < 1 || yaml.num_keypoints > kMaxKeypoints ||
          (yaml.keypoint_width != 2 && yaml.keypoint_width != 3)) {
        reader.refuse("'kpt_shape' is not [number of points, 2 or 3]");
      }
    } else {
      reader.skip_value();
    }
  }
  // As Ultralytics calls classes of which the number alone is known.
  constexpr int64_t kMaxClasses = 1'000'000;
  if (yaml.names.empty()) {
    for (int64_t i = 0; i < std::min(num_classes.value_or(0), kMaxClasses); ++i) {
      yaml.names.push_back(fmt::format("class_{}", i));
    }
  } else if (num_classes && *num_classes != std::ssize(yaml.names)) {
    reader.refuse(fmt::format("'nc' is {}, but 'names' has {} classes; correct one of them",
                              *num_classes, yaml.names.size()));
  }
  if (yaml.names.empty()) reader.refuse("has no 'names' of classes; it may not belong to YOLO");
  return yaml;
}

}  // namespace ffkit
