// Annotation files: large files of JSON, element by element, and the tables in them.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"

namespace ffkit {

// JsonElements: a large JSON file, {"images": [..], "annotations": [..], ..}, part by part: the
// elements of its arrays, one at a time, and the values of its other members.
//
// Finds where a part begins and ends and leaves parsing it to others, so that memory is bounded by
// the largest part, not by the file. Reads the file once, from the beginning. Not thread-safe.

enum class JsonPart : uint8_t {
  array,    // a member that is an array begins; its elements follow
  element,  // of that array
  value,    // a member that is no array
  end,
};

class JsonElements {
 public:
  // `file` must outlive this.
  explicit JsonElements(const InputFile& file);

  // Goes to the next part. Throws Error(corrupt) where the file is cut short or no such JSON,
  // Error(unsupported) for a part of more than 64 MiB.
  JsonPart next();

  // The member that the part belongs to, "annotations", without its escapes. A member may be there
  // twice.
  const std::string& key() const { return key_; }
  // The element or value, as far as brackets and quotes tell; lives until next().
  // simdjson::SIMDJSON_PADDING bytes behind it may be read.
  std::span<const char> text() const;
  // Where it is in the file.
  FileRange range() const;

 private:
  int peek();  // -1 at the end of the file
  bool refill();
  int skip_space();
  void skip_string();
  void skip_value();
  void expect(char wanted);
  void require_object();
  void read_key();
  void keep_value();
  [[noreturn]] void fail_at(const std::string& what) const;

  const InputFile& file_;
  std::vector<char> buffer_;  // [0, end_): the file's bytes from base_ on
  int64_t base_ = 0;
  size_t position_ = 0;
  size_t end_ = 0;
  size_t kept_ = 0;  // first byte that a refill must keep, while is_keeping_
  bool is_keeping_ = false;
  bool is_in_object_ = false;
  bool is_in_array_ = false;
  bool is_first_ = true;  // in the object or array
  std::string key_;
  size_t text_begin_ = 0;
};

// Tables of an annotation file, {"images": [{..}, ..], "annotations": [{..}, ..], ..}, read as
// Python's json and pycocotools read them: of a member that is there twice the last one counts, and
// what is no JSON is refused wherever it is.

// Finds the last member `key`, as a Python dict has it. False where it is absent or null.
bool find_member(const simdjson::dom::object& object, std::string_view key,
                 simdjson::dom::element& value);

struct JsonTable {
  std::string_view name;        // "annotations"
  std::string_view noun;        // "annotation": what an element with an 'id' is called in messages
  std::function<void()> begin;  // the table is there, perhaps again: forget what it had
  // Called with each element and where it is in the file, in order. What it throws gets the file
  // and which element it is: "annotation 7", or "annotations[4]" where it has no id.
  std::function<void(const simdjson::dom::object& object, FileRange range)> add;
};

// Reads the whole file. Throws Error(corrupt) for what is no JSON, or not this JSON;
// Error(invalid_argument) for a table that is no list, or an element that is no object. Notes on
// tables that are there twice go to `notes`.
void read_json_tables(const InputFile& file, std::span<const JsonTable> tables,
                      std::vector<std::string>& notes);

// Parses `text`, behind which simdjson::SIMDJSON_PADDING bytes may be read, and takes what Python's
// json takes beyond JSON: NaN and infinities (as null), integers beyond 64 bits (as reals) and
// surrogates without a partner (as U+FFFD).
simdjson::error_code parse_as_python(simdjson::dom::parser& parser, std::span<const char> text,
                                     simdjson::dom::element& value);

// Why a parser refuses `text`: the first NaN or infinity in it, with the member that has it,
// "'size' is NaN, at byte 17 of it, which JSON has no number for", else what the parser says.
std::string json_problem(std::string_view text, simdjson::error_code error);
// The same of a NaN or an infinity alone; empty where there is none.
std::string number_beyond_json(std::string_view text);

// What parse_as_python() parses where `text` is no strict JSON.
std::string strict_json(std::string_view text);

}  // namespace ffkit
