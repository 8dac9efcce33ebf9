// Members of plain options as parameters of a call: read from a TextValue, and shown as Python
// writes them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ffkit/base/enum_names.h>

#include "transform_text/transform_table.h"

namespace ffkit {

// TextValue: a text of calls as Python has them, taken apart. What the calls mean is not known
// here.
//
//   RandomResizedCrop(224, scale=(0.4, 1)), Apply(0.1, GaussianBlur("a"))
//
// Values are numbers (also 3/4), texts in single or double quotes, True, False, None, lists,
// tuples, range(...) of whole numbers, and calls.
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

// What is read, for messages.
struct TextPlace {
  std::string_view transform;
  std::string_view parameter;
  std::string_view in_call = {};  // ", in NAME(PARAMETERS)" where it is known by its place alone
};

// Throws Error(invalid_argument):
// "<transform> <parameter> is <value>; expected <expected><in_call>".
[[noreturn]] void refuse_text(const TextPlace& place, const TextValue& value,
                              std::string_view expected);

// All throw as refuse_text() does for a value of another kind. Ranges of numbers are left to
// validate().
void read_text(const TextPlace& place, const TextValue& value, bool& to);
void read_text(const TextPlace& place, const TextValue& value, int& to);
void read_text(const TextPlace& place, const TextValue& value, int64_t& to);
void read_text(const TextPlace& place, const TextValue& value, double& to);
void read_text(const TextPlace& place, const TextValue& value, ImageSize& to);
// None: Resize's max_size alone says it
void read_text(const TextPlace& place, const TextValue& value, ResizeSize& to);
void read_text(const TextPlace& place, const TextValue& value, RgbColor& to);
void read_text(const TextPlace& place, const TextValue& value, Padding& to);
// None, or (x, y)
void read_text(const TextPlace& place, const TextValue& value, TurnCenter& to);
void read_text(const TextPlace& place, const TextValue& value, DegreeRange& to);
void read_text(const TextPlace& place, const TextValue& value, FactorRange& to);
void read_text(const TextPlace& place, const TextValue& value, HueRange& to);
void read_text(const TextPlace& place, const TextValue& value, SigmaRange& to);
void read_text(const TextPlace& place, const TextValue& value, std::vector<int64_t>& to);
void read_text(const TextPlace& place, const TextValue& value, std::vector<double>& to);
void read_text(const TextPlace& place, const TextValue& value, LowHigh to);
void read_text(const TextPlace& place, const TextValue& value, OrNone to);
void read_text(const TextPlace& place, const TextValue& value, NumberOrRandom to);
void read_text(const TextPlace& place, const TextValue& value, Shear to);
void read_text(const TextPlace& place, const TextValue& value, Square to);
// A name as from_name() wants it, which shows it in its messages.
std::string text_of_name(const TextPlace& place, const TextValue& value);
template <NamedEnum Enum>
void read_text(const TextPlace& place, const TextValue& value, Enum& to) {
  to = from_name<Enum>(text_of_name(place, value));
}

template <typename Number>
std::string show_text(Number value) requires std::is_arithmetic_v<Number> {
  return fmt::format("{}", value);
}
template <NamedEnum Enum>
std::string show_text(Enum value) {
  return fmt::format("\"{}\"", to_string(value));
}
std::string show_text(bool value);
std::string show_text(const ImageSize& value);
std::string show_text(const ResizeSize& value);
std::string show_text(const RgbColor& value);
std::string show_text(const Padding& value);
std::string show_text(const TurnCenter& value);
std::string show_text(const DegreeRange& value);
std::string show_text(const FactorRange& value);
std::string show_text(const HueRange& value);
std::string show_text(const SigmaRange& value);
std::string show_text(const std::vector<int64_t>& value);
std::string show_text(const std::vector<double>& value);
std::string show_text(LowHigh value);
std::string show_text(OrNone value);
std::string show_text(NumberOrRandom value);
std::string show_text(Shear value);
std::string show_text(Square value);

}  // namespace ffkit
