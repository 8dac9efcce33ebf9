// Tables of an annotation file, {"images": [{..}, ..], "annotations": [{..}, ..], ..}, read as
// Python's json and pycocotools read them: of a member that is there twice the last one counts, and
// what is no JSON is refused wherever it is.
#pragma once

#include <simdjson.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"

namespace ffkit {

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

// What parse_as_python() parses where `text` is no strict JSON.
std::string strict_json(std::string_view text);

}  // namespace ffkit
