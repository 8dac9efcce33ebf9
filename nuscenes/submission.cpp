#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <ffkit/base/error.h>
#include <ffkit/nuscenes/detection.h>

#include "base/make_error.h"
#include "base/printable.h"

// What is taken and what is refused is what Python's json and the devkit's DetectionBox take and
// refuse: NaN and Infinity are numbers, of a member that is there twice the last one counts, and
// all of the file must be JSON. So nothing is judged before its object has been read.

namespace ffkit::nuscenes {
namespace {

namespace ondemand = simdjson::ondemand;

// JSON as Python's json module reads it, with simdjson: NaN, Infinity and -Infinity are numbers,
// true and false count as 1 and 0, and all of a value is looked at, also of one that nobody wants.
// Pure functions: thread-safe.
//
// All read the value to its end, whatever it is, and throw simdjson::simdjson_error where it is no
// JSON.
enum class JsonKind { number, boolean, text, null, array, object };

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMaxDepth = 500;

// The value as it stands in the file; of an array or object the bracket. Reads nothing.
std::string_view token_of(ondemand::value value) {
  const std::string_view token = trimmed(value.raw_json_token());
  if (token.empty()) throw simdjson::simdjson_error(simdjson::TAPE_ERROR);
  return token;
}

// By the first character; number for what is none of the others.
JsonKind kind_of(ondemand::value value) {
  switch (token_of(value).front()) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::text;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return JsonKind::number;
  }
}

// A number as JSON has it, or NaN, Infinity, -Infinity as Python writes them.
double read_number(ondemand::value value) {
  const std::string_view token = token_of(value);
  if (token == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (token == "Infinity") return kInfinity;
  if (token == "-Infinity") return -kInfinity;
  double number = 0;
  const auto error = value.get_double().get(number);
  if (error == simdjson::SUCCESS) return number;
  // Numbers beyond f64 are infinite in Python. strtod() takes more than JSON does, but none with an
  // exponent of digits alone.
  const bool is_plain = token.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
  const double beyond = is_plain ? std::strtod(std::string(token).c_str(), nullptr) : 0;
  if (!std::isinf(beyond)) throw simdjson::simdjson_error(error);
  return beyond;
}

// Reads the value to its end and throws where it is no JSON.
void skip_nested(ondemand::value value, int depth) {
  if (depth > kMaxDepth) {
    throw error_of(ErrorCode::corrupt, "the JSON is nested more than {} times", kMaxDepth);
  }
  switch (kind_of(value)) {
    case JsonKind::object:
      for (auto field : value.get_object()) {
        (void)std::string_view(field.unescaped_key());
        skip_nested(field.value(), depth + 1);
      }
      break;
    case JsonKind::array:
      for (ondemand::value item : value.get_array()) skip_nested(item, depth + 1);
      break;
    case JsonKind::text:
      (void)std::string_view(value.get_string());
      break;
    case JsonKind::boolean:
      (void)bool(value.get_bool());
      break;
    case JsonKind::null:
      if (!value.is_null()) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
      break;
    case JsonKind::number:
      (void)read_number(value);
      break;
  }
}

// Python's float() of a text, nothing where that fails.
std::optional<double> number_of_text(std::string_view text) {
  text = trimmed(text);
  const bool has_sign = text.starts_with('+') || text.starts_with('-');
  const bool is_negative = text.starts_with('-');
  if (has_sign) text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || text.find('(') != std::string_view::npos) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr);
  return is_negative ? -value : value;
}

void skip(ondemand::value value) {
  skip_nested(value, 0);
}

// Nothing for what is neither a number nor true or false.
std::optional<double> number_or_none(ondemand::value value) {
  const JsonKind kind = kind_of(value);
  if (kind == JsonKind::number) return read_number(value);
  if (kind == JsonKind::boolean) return bool(value.get_bool()) ? 1 : 0;
  skip(value);
  return std::nullopt;
}

// Also of a text that Python's float() takes.
std::optional<double> number_or_text(ondemand::value value) {
  if (kind_of(value) != JsonKind::text) return number_or_none(value);
  return number_of_text(value.get_string());
}

// What a member wants; each returns what is wrong with it, "" for nothing.
template <size_t N>
std::string read_numbers(std::string_view name, ondemand::value value, bool may_be_nan,
                         std::array<double, N>& out) {
  if (kind_of(value) != JsonKind::array) {
    skip(value);
    return fmt::format("'{}' is not a list of {} numbers", name, N);
  }
  size_t count = 0;
  bool has_nan = false;
  bool has_others = false;
  for (ondemand::value item : value.get_array()) {
    const std::optional<double> read = number_or_none(item);
    has_others = has_others || !read;
    has_nan = has_nan || (read && std::isnan(*read));
    if (count < N) out[count] = read.value_or(0);
    ++count;
  }
  if (has_others) return fmt::format("'{}' contains a value that is not a number", name);
  if (count != N) return fmt::format("'{}' has {} numbers, but must have {}", name, count, N);
  if (has_nan && !may_be_nan)
    return fmt::format("'{}' contains NaN, but must contain only numbers", name);
  return "";
}

std::string text_or_token(ondemand::value value, bool& is_text) {
  is_text = kind_of(value) == JsonKind::text;
  if (is_text) return std::string(std::string_view(value.get_string()));
  std::string token(token_of(value));
  skip(value);
  return token;
}

std::string read_sample_token(ondemand::value value, std::string_view token) {
  bool is_text = false;
  const std::string own = text_or_token(value, is_text);
  return is_text && own == token
             ? ""
             : fmt::format("'sample_token' is '{}', but the box is in the list of another sample",
                           own);
}

std::string read_class(ondemand::value value, int& class_of_box) {
  bool is_text = false;
  const std::string name = text_or_token(value, is_text);
  class_of_box = is_text ? class_number(name) : -1;
  if (class_of_box >= 0) return "";
  return fmt::format("'detection_name' is '{}', but must be one of {}", name,
                     fmt::join(kClasses, ", "));
}

std::string read_attribute(ondemand::value value, int& attribute) {
  bool is_text = false;
  const std::string name = text_or_token(value, is_text);
  attribute = is_text && !name.empty() ? attribute_number(name) : -1;
  if (is_text && (name.empty() || attribute >= 0)) return "";
  return fmt::format("'attribute_name' is '{}', but must be one of {}, or '' for no attribute",
                     name, fmt::join(kAttributes, ", "));
}

std::string read_score(ondemand::value value, double& score) {
  const std::string token(token_of(value));
  const std::optional<double> read = number_or_text(value);
  if (!read) return fmt::format("'detection_score' is {}, but must be a number", token);
  if (std::isnan(*read)) return "'detection_score' is NaN, but must be a number";
  score = *read;
  return "";
}

std::string read_num_points(ondemand::value value, int64_t& num_points) {
  const std::string token(token_of(value));
  const std::optional<double> read = number_or_text(value);
  if (!read || !std::isfinite(*read))
    return fmt::format("'num_pts' is {}, but must be a number", token);
  num_points = static_cast<int64_t>(std::clamp(*read, -1e15, 1e15));
  return "";
}

// The members that the devkit knows; the last two may be missing.
constexpr std::array<std::string_view, 10> kMembers = {
    "sample_token",   "translation",     "size",           "rotation", "velocity",
    "detection_name", "detection_score", "attribute_name", "num_pts",  "ego_translation"};
constexpr size_t kNumNeeded = 8;

std::string read_member(size_t member, ondemand::value value, std::string_view token,
                        DetectionBox& box) {
  const std::string_view name = kMembers[member];
  switch (member) {
    case 0:
      return read_sample_token(value, token);
    case 1:
      return read_numbers(name, value, false, box.translation);
    case 2:
      return read_numbers(name, value, false, box.size);
    case 3: {
      std::array<double, 4> q{};
      std::string problem = read_numbers(name, value, false, q);
      box.rotation = {q[0], q[1], q[2], q[3]};
      return problem;
    }
    case 4:
      return read_numbers(name, value, true, box.velocity);
    case 5:
      return read_class(value, box.class_number);
    case 6:
      return read_score(value, box.score);
    case 7:
      return read_attribute(value, box.attribute);
    case 8:
      return read_num_points(value, box.num_points);
    default: {
      Vector3 unused{};  // it is taken from the tables
      return read_numbers(name, value, false, unused);
    }
  }
}

// Returns what is wrong with the box.
std::string read_box(ondemand::value value, std::string_view token, DetectionBox& box) {
  if (kind_of(value) != JsonKind::object) {
    skip(value);
    return "the box is not a JSON object";
  }
  std::array<std::string, kMembers.size()> problems;
  unsigned seen = 0;
  for (auto field : value.get_object()) {
    const std::string_view key = field.unescaped_key();
    const auto found = std::find(kMembers.begin(), kMembers.end(), key);
    if (found == kMembers.end()) {
      skip(field.value());
      continue;
    }
    const auto member = static_cast<size_t>(found - kMembers.begin());
    problems[member] = read_member(member, field.value(), token, box);
    seen |= 1U << member;
  }
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  for (size_t member = 0; member < kNumNeeded; ++member) {
    if ((seen >> member & 1U) == 0) return fmt::format("the box has no '{}'", kMembers[member]);
  }
  return "";
}

// The samples, and of each what is wrong with it.
struct Results {
  std::vector<SampleDetections> samples;
  std::vector<std::string> problems;
  std::string problem;  // of all of it
};

// Returns what is wrong. `where` says, for an error of JSON, which sample and box it is about.
std::string read_boxes(ondemand::value value, SampleDetections& sample, std::string& where) {
  where = fmt::format("sample {}: ", sample.token);
  if (kind_of(value) != JsonKind::array) {
    skip(value);
    return where + "the value is not a list of boxes";
  }
  std::string first;
  for (ondemand::value item : value.get_array()) {
    where = fmt::format("sample {}, box {}: ", sample.token, sample.boxes.size());
    const std::string problem = read_box(item, sample.token, sample.boxes.emplace_back());
    if (first.empty() && !problem.empty()) first = where + problem;
  }
  return first;
}

Results read_results(ondemand::value value, std::string& where) {
  Results results;
  if (kind_of(value) != JsonKind::object) {
    skip(value);
    results.problem = "the member 'results' is not an object with one list per sample token";
    return results;
  }
  std::unordered_map<std::string, size_t> places;
  for (auto field : value.get_object()) {
    const std::string token(std::string_view(field.unescaped_key()));
    const auto [place, is_new] = places.emplace(token, results.samples.size());
    if (is_new) {
      results.samples.push_back({.token = token});
      results.problems.emplace_back();
    }
    SampleDetections& sample = results.samples[place->second];
    sample.boxes.clear();
    results.problems[place->second] = read_boxes(field.value(), sample, where);
    where.clear();
  }
  return results;
}

// The value's text, which is JSON.
std::string read_meta(ondemand::value value) {
  const JsonKind kind = kind_of(value);
  if (kind != JsonKind::object && kind != JsonKind::array) {
    std::string text(token_of(value));
    skip(value);
    return text;
  }
  std::string text(std::string_view(simdjson::to_json_string(value)));
  const simdjson::padded_string padded(text);
  ondemand::parser parser;
  ondemand::document document = parser.iterate(padded);
  skip(document.get_value());
  return text;
}

Submission read_document(const simdjson::padded_string& text, std::string& where) {
  const std::string_view content = text;
  if (content.starts_with("\xEF\xBB\xBF"))
    throw Error(ErrorCode::corrupt, "the file begins with a byte order mark");
  Submission submission;
  std::optional<Results> results;
  bool has_meta = false;
  ondemand::parser parser;
  ondemand::document document = parser.iterate(text);
  for (auto field : document.get_object()) {
    const std::string_view key = field.unescaped_key();
    if (key == "results") {
      results = read_results(field.value(), where);
    } else if (key == "meta") {
      submission.meta = read_meta(field.value());
      has_meta = true;
    } else {
      skip(field.value());
    }
  }
  const char* behind = nullptr;
  if (document.current_location().get(behind) != simdjson::OUT_OF_BOUNDS) {
    throw Error(ErrorCode::corrupt, "the file has more text after the end of its JSON");
  }
  if (!results || !has_meta) {
    throw error_of(
        ErrorCode::corrupt,
        "the file has no member '{}'; write the file as {{\"meta\": {{..}}, \"results\": {{..}}}}",
        results ? "meta" : "results");
  }
  if (!results->problem.empty()) throw Error(ErrorCode::corrupt, results->problem);
  for (const std::string& problem : results->problems) {
    if (!problem.empty()) throw Error(ErrorCode::corrupt, problem);
  }
  submission.samples = std::move(results->samples);
  return submission;
}

}  // namespace

Submission read_submission(const std::filesystem::path& path, int64_t max_boxes_per_sample) {
  const ErrorContext context{.path = path.string()};
  std::error_code error;
  const auto num_bytes = std::filesystem::file_size(path, error);
  if (error) {
    throw Error(ErrorCode::not_found,
                "the file with the results cannot be read: " + error.message(), context);
  }
  if (num_bytes >= std::numeric_limits<uint32_t>::max()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("the file has {} bytes, more than the limit of 4 GiB; write the "
                            "numbers with fewer digits",
                            num_bytes),
                context);
  }
  Submission submission;
  std::string where;
  try {
    submission = read_document(simdjson::padded_string::load(path.string()), where);
  } catch (const simdjson::simdjson_error& problem) {
    throw Error(ErrorCode::corrupt,
                fmt::format("{}the text is not valid JSON of detections: {}; see the format at "
                            "https://www.nuscenes.org/object-detection",
                            where, problem.what()),
                context);
  } catch (const Error& problem) {
    throw problem.within(context);
  }
  for (const SampleDetections& sample : submission.samples) {
    if (std::ssize(sample.boxes) <= max_boxes_per_sample) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("sample {} has {} boxes, but at most {} are allowed; keep the boxes "
                            "with the highest scores",
                            sample.token, sample.boxes.size(), max_boxes_per_sample),
                context);
  }
  return submission;
}

}  // namespace ffkit::nuscenes
