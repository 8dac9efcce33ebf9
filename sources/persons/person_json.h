// Members of the JSON objects that describe pictures and persons. All throw Error(invalid_argument)
// without a path: callers know where they read.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/pose/geometry.h>

#include "converter/input/input_file.h"

namespace ffkit {

class PersonJson {
 public:
  explicit PersonJson(simdjson::dom::object object) : object_(object) {}
  // Of what must be an object.
  explicit PersonJson(simdjson::dom::element value);

  // Null counts as absent.
  bool has(std::string_view name) const;
  simdjson::dom::element at(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  std::string text(std::string_view name) const;
  bool is_true(std::string_view name) const;  // a boolean, or a number that is not 0
  PersonJson object(std::string_view name) const;
  // All numbers of an array of arrays, in order; true and false are 1 and 0. Throws unless there
  // are `count`, each finite; `what` says what they are for.
  std::vector<double> numbers(std::string_view name, size_t count, std::string_view what) const;
  pose::Box box() const;  // of "bbox"

 private:
  simdjson::dom::object object_;
};

// Hands over the pictures and persons of an annotation file, its lists "images" and "annotations",
// in the file's order, each with its id. What they throw gets the file, and which of them it is.
// Throws Error(corrupt) for a file that is broken.
using AddPersonJson = std::function<void(const PersonJson& json, int64_t id)>;
void read_annotations(const InputFile& file, const AddPersonJson& add_picture,
                      const AddPersonJson& add_person);

// `file` for Source::inputs().
SourceInput person_input(const InputFile& file);
// A whole file of JSON, which lives in the parser.
simdjson::simdjson_result<simdjson::dom::element> load_json(simdjson::dom::parser& parser,
                                                            const std::filesystem::path& path);

}  // namespace ffkit
