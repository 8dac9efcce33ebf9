// What ffinspect writes to a terminal: JSON, sizes, bars, texts that are safe there, values of
// fields, and how far it is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/format/record.h>

#include "base/terminal_line.h"

namespace ffkit {

using Json = nlohmann::ordered_json;

// One document, indented, and a line end. Text that is not UTF-8 gets replacement characters.
void print_json(const Json& document);
// One line of JSON Lines.
void print_json_line(const Json& value);
std::string json_text(const Json& value, int indent = -1);

// The number; what is not finite, which JSON has no word for, as the text "nan", "inf" or "-inf".
Json json_number(double value);

bool stdout_is_terminal();

// "17 B", "1.7 kB", "107.8 MB".
std::string human_bytes(int64_t bytes);
// `text` on one line: tabs, line ends, other control characters and backslashes as \t, \n, \x1b,
// \\.
std::string escaped(std::string_view text);

// A bar for `count` where the largest is `largest`: "#####", at least "#" unless the count is 0.
std::string bar(int64_t count, int64_t largest, int width = 40);

// One line on standard error that shows how far a long reading is; silent unless that is a
// terminal.
class ProgressLine {
 public:
  // `what` begins the line; so many bytes, or of what `unit` names ("records"), are to be done. The
  // destructor wipes the line.
  ProgressLine(std::string what, int64_t total, std::string unit = "");
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // So many more are done. Thread-safe; draws a few times a second.
  void add(int64_t count);

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  std::string text_of(int64_t count) const;

  std::string what_;
  std::string unit_;  // empty: bytes
  int64_t total_;
  Clock::time_point start_;
  std::atomic<int64_t> done_ = 0;
  std::mutex mutex_;  // of what follows
  TerminalLine line_;
};

// The fields of a record as text and as JSON and as files, for every field type.

// "image image", "label scalar i64, column".
std::string describe_field(const Field& field);
Json field_description_json(const Field& field);

inline constexpr size_t kValuesInLine = 16;

// One line: the number, the escaped text, "jpeg 500 x 375, 107854 bytes", "f32 [3, 4]", "2 items",
// "null". Tensors and lists of up to `max_values` have their numbers and items behind that. Throws
// Error(corrupt) when the field's bytes are not of its type.
std::string field_text(const Field& field, const FieldView& view, size_t max_values = 0);

// null, the number (what is not finite as "nan", "inf" or "-inf"), the text, or an object with
// "num_bytes" (bytes), "num_bytes", "encoding", "width", "height" (image; the last two are null
// when its header cannot be read), "dtype", "shape" (tensor), or an array of these (list). `detail`
// adds more.
enum class Detail {
  sizes,
  values,   // tensors get "values", their numbers, row-major
  content,  // and pictures and bytes get "base64", pictures that of image_file()
};
Json field_json(const Field& field, const FieldView& view, Detail detail);

// The file that an encoded picture stands for: the picture itself, and of the dct code the JPEG,
// which is then made in `jpeg`. Throws Error(corrupt) or Error(unsupported) for a dct code that is
// broken or of another version.
std::span<const std::byte> image_file(std::span<const std::byte> image,
                                      std::vector<std::byte>& jpeg);

// The field's content as files have it: encoded pictures and opaque bytes as they are, text, a
// number as text, tensors as .npy, every item of a list in a file of its own.
struct FieldFile {
  // of the file's name behind the field's: ".jpg", ".npy", "/0.txt" for the first item of a list
  std::string suffix;
  std::span<const std::byte> data;  // of the record, or of `owned`
  std::string owned;
  bool is_image = false;  // the file is image_file() of the data
};
std::vector<FieldFile> field_files(const Schema& schema, const RecordView& record, size_t field);
// ".jpg" (also of the dct code), ".png", or ".bin" for what is neither.
std::string image_extension(std::span<const std::byte> image);

// Appends the bytes of numbers as other libraries take them: bf16, which they lack, as float32,
// which loses nothing.
void append_numbers(DType dtype, std::span<const std::byte> data, std::string& out);
// The tensor as the content of a .npy file (numpy.lib.format, version 1.0). Numbers as
// append_numbers().
std::string npy_file(const TensorView& tensor);

// The items of a list of strings as a JSON array. Throws Error(unsupported) for an item that is no
// UTF-8 text, which JSON cannot hold.
std::string json_array_of(const Field& field, const ListView& list);

}  // namespace ffkit
