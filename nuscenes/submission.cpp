#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <limits>
#include <string_view>

#include <ffkit/format/error.h>
#include <ffkit/nuscenes/detection.h>

namespace ffkit::nuscenes {
namespace {

namespace ondemand = simdjson::ondemand;

// What a box needs, as bits of what was seen.
constexpr std::array<std::string_view, 8> kMembers = {
    "sample_token",   "translation",     "size",          "rotation", "velocity",
    "detection_name", "detection_score", "attribute_name"};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::corrupt, message);
}

double number(ondemand::value value) {
  // Python writes NaN, and the official evaluation reads it; JSON knows no such number.
  if (value.raw_json_token().substr(0, 3) == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return value.get_double();
}

template <size_t N>
std::array<double, N> numbers(std::string_view name, ondemand::value value, bool may_be_nan) {
  std::array<double, N> result{};
  size_t count = 0;
  bool has_nan = false;
  for (ondemand::value item : value.get_array()) {
    const double read = number(item);
    has_nan = has_nan || std::isnan(read);
    if (count < N) result[count] = read;
    ++count;
  }
  if (count != N) refuse(fmt::format("{} has {} numbers, expected {}", name, count, N));
  if (has_nan && !may_be_nan) refuse(fmt::format("{} holds NaN", name));
  return result;
}

template <typename Names>
std::string join(const Names& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

void read_member(size_t member, ondemand::value value, std::string_view token, DetectionBox& box) {
  switch (member) {
    case 0: {
      const std::string_view own = value.get_string();
      if (own != token) refuse(fmt::format("sample_token is '{}', not that of its list", own));
      break;
    }
    case 1:
      box.translation = numbers<3>("translation", value, false);
      break;
    case 2:
      box.size = numbers<3>("size", value, false);
      break;
    case 3: {
      const auto q = numbers<4>("rotation", value, false);
      box.rotation = {q[0], q[1], q[2], q[3]};
      break;
    }
    case 4:
      box.velocity = numbers<2>("velocity", value, true);
      break;
    case 5: {
      const std::string_view name = value.get_string();
      box.class_number = class_number(name);
      if (box.class_number < 0) {
        refuse(fmt::format("detection_name is '{}'; there are {}", name, join(kClasses)));
      }
      break;
    }
    case 6:
      box.score = number(value);
      if (std::isnan(box.score)) refuse("detection_score is NaN");
      break;
    default: {
      const std::string_view name = value.get_string();
      box.attribute = name.empty() ? -1 : attribute_number(name);
      if (!name.empty() && box.attribute < 0) {
        refuse(fmt::format("attribute_name is '{}'; there are {}, and '' for none", name,
                           join(kAttributes)));
      }
    }
  }
}

DetectionBox read_box(ondemand::object object, std::string_view token) {
  DetectionBox box;
  unsigned seen = 0;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    for (size_t member = 0; member < kMembers.size(); ++member) {
      if (key != kMembers[member]) continue;
      ondemand::value value = field.value();
      read_member(member, value, token, box);
      seen |= 1U << member;
    }
  }
  for (size_t member = 0; member < kMembers.size(); ++member) {
    if ((seen >> member & 1U) == 0) refuse(fmt::format("{} is missing", kMembers[member]));
  }
  return box;
}

// `where` says, for an error, which sample and box it is about.
void read_results(ondemand::object results, Submission& submission, std::string& where) {
  for (auto field : results) {
    const std::string_view token = field.unescaped_key();
    SampleDetections& sample = submission.samples.emplace_back();
    sample.token = token;
    ondemand::value boxes = field.value();
    where = fmt::format("sample {}: ", sample.token);
    for (ondemand::value box : boxes.get_array()) {
      where = fmt::format("sample {}, box {}: ", sample.token, sample.boxes.size());
      sample.boxes.push_back(read_box(box.get_object(), sample.token));
    }
    where.clear();
  }
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
    throw Error(
        ErrorCode::unsupported,
        fmt::format("has {} bytes, more than the 4 GiB that can be read; write numbers with "
                    "fewer digits",
                    num_bytes),
        context);
  }
  Submission submission{.meta = "null"};
  std::string where;
  bool has_results = false;
  try {
    const simdjson::padded_string text = simdjson::padded_string::load(path.string());
    ondemand::parser parser;
    ondemand::document document = parser.iterate(text);
    for (auto field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      ondemand::value value = field.value();
      if (key == "results") {
        has_results = true;
        read_results(value.get_object(), submission, where);
      } else if (key == "meta") {
        submission.meta = std::string(std::string_view(simdjson::to_json_string(value)));
      }
    }
  } catch (const simdjson::simdjson_error& problem) {
    throw Error(ErrorCode::corrupt,
                fmt::format("{}is no JSON of detections: {}; see the format at "
                            "https://www.nuscenes.org/object-detection",
                            where, problem.what()),
                context);
  } catch (const Error& problem) {
    throw Error(problem.code(), where + problem.what(), context);
  }
  if (!has_results) {
    throw Error(ErrorCode::corrupt,
                "has no member 'results'; expected {\"meta\": {..}, \"results\": {..}}", context);
  }
  for (const SampleDetections& sample : submission.samples) {
    if (std::ssize(sample.boxes) <= max_boxes_per_sample) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("sample {} has {} boxes; at most {} are allowed, keep those with the "
                            "highest scores",
                            sample.token, sample.boxes.size(), max_boxes_per_sample),
                context);
  }
  return submission;
}

}  // namespace ffkit::nuscenes
