// TextValue: a text of calls as Python has them, taken apart. What the calls mean is not known
// here.
//
//   RandomResizedCrop(224, scale=(0.4, 1)), Apply(0.1, GaussianBlur("a"))
//
// Values are numbers (also 3/4), texts in single or double quotes, True, False, None, lists,
// tuples, range(...) of whole numbers, and calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

struct TextValue {
  enum class Kind : uint8_t { none, boolean, integer, number, string, list, call };

  Kind kind = Kind::none;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;                    // of an integer too
  std::string_view text;                // of a string: without its quotes; of a call: its name
  std::vector<TextValue> items;         // of a list or tuple; of a call: its arguments
  std::vector<std::string_view> names;  // of a call: by argument; empty where it has none
  std::string_view source;              // as it is written
};

// The calls and other values in `text`, which they point into. Throws Error(invalid_argument) that
// quotes where it does not fit, also for more than 40 brackets within each other.
std::vector<TextValue> parse_text_values(std::string_view text);

// A part of the text for messages, in quotes (its own, if it has some): on one line, its end left
// out where it is long.
std::string quoted_text(std::string_view part);

}  // namespace ffkit
