#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include <ffkit/nuscenes/detection_results.h>

#include "base/errors_only.h"
#include "base/file/file.h"
#include "base/make_error.h"

namespace ffkit::nuscenes {
namespace {

void append_text(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

// The fewest digits that give the same number when they are read, at most 17.
void append_number(double number, std::string& out) {
  if (!std::isfinite(number)) {
    throw Error(ErrorCode::invalid_argument, "a box has a number that is not finite");
  }
  fmt::format_to(std::back_inserter(out), "{}", number);
}

void append_list(std::string_view name, std::span<const double> numbers, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\"{}\": [", name);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ", ";
    append_number(numbers[i], out);
  }
  out += "], ";
}

void append_box(const DetectionBox& box, std::string_view token, std::string& out) {
  if (box.class_number < 0 || box.class_number >= std::ssize(kClasses) || box.attribute < -1 ||
      box.attribute >= std::ssize(kAttributes)) {
    throw error_of(ErrorCode::invalid_argument,
                   "a box is of class {} and attribute {}; there are {} and {}", box.class_number,
                   box.attribute, kClasses.size(), kAttributes.size());
  }
  out += "{\"sample_token\": ";
  append_text(token, out);
  out += ", ";
  const Quaternion& q = box.rotation;
  append_list("translation", box.translation, out);
  append_list("size", box.size, out);
  append_list("rotation", std::array{q.w, q.x, q.y, q.z}, out);
  append_list("velocity", box.velocity, out);
  const std::string_view attribute = box.attribute < 0 ? "" : kAttributes[box.attribute];
  fmt::format_to(std::back_inserter(out),
                 "\"detection_name\": \"{}\", \"detection_score\": ", kClasses[box.class_number]);
  append_number(box.score, out);
  fmt::format_to(std::back_inserter(out), ", \"attribute_name\": \"{}\"}}", attribute);
}

void write_json(File& file, const Submission& submission) {
  const auto write = [&file](const std::string& text) {
    file.write(std::as_bytes(std::span(text)));
  };
  write("{\"meta\": " + (submission.meta.empty() ? "null" : submission.meta) + ", \"results\": {");
  std::string text;  // of one sample
  for (size_t i = 0; i < submission.samples.size(); ++i) {
    const SampleDetections& sample = submission.samples[i];
    text = i == 0 ? "\n" : ",\n";
    append_text(sample.token, text);
    text += ": [";
    for (size_t box = 0; box < sample.boxes.size(); ++box) {
      text += box == 0 ? "\n" : ",\n";
      append_box(sample.boxes[box], sample.token, text);
    }
    text += ']';
    write(text);
  }
  write("}}\n");
}

}  // namespace

void write_submission(const std::filesystem::path& path, const Submission& submission) {
  errors_only(path, [&] {
    std::filesystem::path written = path;
    written += ".tmp";
    try {
      File file = File::create(written);
      write_json(file, submission);
      file.sync();
      file.close();
      rename_durably(written, path);
    } catch (const Error& error) {
      std::error_code ignored;
      std::filesystem::remove(written, ignored);
      if (!error.context().path.empty()) throw;
      throw error.within({.path = path.string()});
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove(written, ignored);
      throw;
    }
  });
}

}  // namespace ffkit::nuscenes
