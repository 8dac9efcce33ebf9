#include "transform_text/text_members.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

using Kind = TextValue::Kind;

bool is_text_number(const TextValue& value) {
  return value.kind == Kind::integer || value.kind == Kind::number;
}

bool is_text_list(const TextValue& value, Kind of, size_t size) {
  return value.kind == Kind::list && value.items.size() == size &&
         std::ranges::all_of(value.items, [of](const TextValue& item) {
           return of == Kind::number ? is_text_number(item) : item.kind == of;
         });
}

// Of a number s, or (low, high).
template <typename Range>
void read_text_range(const TextPlace& place, const TextValue& value, Range& to) {
  if (is_text_number(value)) {
    to = Range(value.number);
  } else if (is_text_list(value, Kind::number, 2)) {
    to = Range(value.items[0].number, value.items[1].number);
  } else {
    refuse_text(place, value, "a number, or (low, high)");
  }
}

// One number for all of them, or one each.
template <typename T, size_t n>
std::array<T, n> read_text_numbers(const TextPlace& place, const TextValue& value, int64_t min,
                                   int64_t max, std::string_view expected) {
  std::array<T, n> numbers;
  const bool is_one = value.kind == Kind::integer;
  if (!is_one && !is_text_list(value, Kind::integer, n)) refuse_text(place, value, expected);
  for (size_t i = 0; i < n; ++i) {
    const int64_t number = is_one ? value.integer : value.items[i].integer;
    if (number < min || number > max) refuse_text(place, value, expected);
    numbers[i] = static_cast<T>(number);
  }
  return numbers;
}

std::string text_of_pair(double low, double high) {
  return fmt::format("({}, {})", low, high);
}

// The strength that stands for [centre - s, centre + s], or both ends.
std::string text_of_range(double low, double high, double centre) {
  const double strength = high - centre;
  return low == centre - strength ? fmt::format("{}", strength) : text_of_pair(low, high);
}

}  // namespace

void refuse_text(const TextPlace& place, const TextValue& value, std::string_view expected) {
  throw error_of(ErrorCode::invalid_argument, "{} {} is {}; expected {}{}", place.transform,
                 place.parameter, quoted_text(value.source), expected, place.in_call);
}

std::string text_of_name(const TextPlace& place, const TextValue& value) {
  if (value.kind != Kind::string) refuse_text(place, value, "a name in quotes");
  return printable(value.text);
}

void read_text(const TextPlace& place, const TextValue& value, bool& to) {
  if (value.kind != Kind::boolean) refuse_text(place, value, "True or False");
  to = value.boolean;
}

void read_text(const TextPlace& place, const TextValue& value, int& to) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (value.kind != Kind::integer || value.integer < -kMost || value.integer > kMost) {
    refuse_text(place, value, "a whole number");
  }
  to = static_cast<int>(value.integer);
}

void read_text(const TextPlace& place, const TextValue& value, int64_t& to) {
  if (value.kind != Kind::integer) refuse_text(place, value, "a whole number");
  to = value.integer;
}

void read_text(const TextPlace& place, const TextValue& value, double& to) {
  if (!is_text_number(value)) refuse_text(place, value, "a number");
  to = value.number;
}

void read_text(const TextPlace& place, const TextValue& value, ImageSize& to) {
  if (value.kind == Kind::integer) {
    to = value.integer;
  } else if (is_text_list(value, Kind::integer, 2)) {
    to = {value.items[0].integer, value.items[1].integer};
  } else {
    refuse_text(place, value, "a whole number of pixels, or (height, width)");
  }
}

void read_text(const TextPlace& place, const TextValue& value, ResizeSize& to) {
  if (value.kind == Kind::none) {
    to = ResizeSize::nothing();
  } else if (value.kind == Kind::integer) {
    to = value.integer;
  } else if (is_text_list(value, Kind::integer, 1)) {
    to = value.items[0].integer;
  } else if (is_text_list(value, Kind::integer, 2)) {
    to = {value.items[0].integer, value.items[1].integer};
  } else {
    refuse_text(place, value, "the short side in whole pixels, (height, width) or None");
  }
}

void read_text(const TextPlace& place, const TextValue& value, RgbColor& to) {
  to = read_text_numbers<uint8_t, 3>(place, value, 0, 255,
                                     "a number from 0 to 255, or (red, green, blue)");
}

void read_text(const TextPlace& place, const TextValue& value, Padding& to) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr std::string_view kExpected =
      "a whole number of pixels, (left and right, top and bottom) or (left, top, right, bottom)";
  if (is_text_list(value, Kind::integer, 2)) {
    const auto [across, down] = read_text_numbers<int64_t, 2>(place, value, -kMost, kMost, "");
    to = {across, down, across, down};
  } else {
    const auto [left, top, right, bottom] =
        read_text_numbers<int64_t, 4>(place, value, -kMost, kMost, kExpected);
    to = {left, top, right, bottom};
  }
}

void read_text(const TextPlace& place, const TextValue& value, TurnCenter& to) {
  if (value.kind == Kind::none) {
    to.reset();
    return;
  }
  if (!is_text_list(value, Kind::number, 2)) refuse_text(place, value, "(x, y) or None");
  to = {value.items[0].number, value.items[1].number};
}

void read_text(const TextPlace& place, const TextValue& value, DegreeRange& to) {
  read_text_range(place, value, to);
}
void read_text(const TextPlace& place, const TextValue& value, FactorRange& to) {
  read_text_range(place, value, to);
}
void read_text(const TextPlace& place, const TextValue& value, HueRange& to) {
  read_text_range(place, value, to);
}
void read_text(const TextPlace& place, const TextValue& value, SigmaRange& to) {
  read_text_range(place, value, to);
}

void read_text(const TextPlace& place, const TextValue& value, std::vector<int64_t>& to) {
  to.clear();
  if (value.kind == Kind::integer) {
    to.push_back(value.integer);
    return;
  }
  if (!is_text_list(value, Kind::integer, value.items.size())) {
    refuse_text(place, value, "a whole number, or several in brackets");
  }
  to.reserve(value.items.size());
  for (const TextValue& item : value.items) to.push_back(item.integer);
}

void read_text(const TextPlace& place, const TextValue& value, std::vector<double>& to) {
  if (!is_text_list(value, Kind::number, value.items.size())) {
    refuse_text(place, value, "numbers in brackets");
  }
  to.clear();
  to.reserve(value.items.size());
  for (const TextValue& item : value.items) to.push_back(item.number);
}

void read_text(const TextPlace& place, const TextValue& value, LowHigh to) {
  if (!is_text_list(value, Kind::number, 2)) refuse_text(place, value, "(low, high)");
  to.low = value.items[0].number;
  to.high = value.items[1].number;
}

void read_text(const TextPlace& place, const TextValue& value, OrNone to) {
  to.number = 0;
  if (value.kind != Kind::none) read_text(place, value, to.number);
}

void read_text(const TextPlace& place, const TextValue& value, NumberOrRandom to) {
  to.is_random = value.kind == Kind::string && value.text == "random";
  if (to.is_random) return;
  if (value.kind == Kind::string) refuse_text(place, value, "a number, or \"random\"");
  double number = 0;
  read_text(place, value, number);
  to.number = static_cast<float>(number);
}

void read_text(const TextPlace& place, const TextValue& value, Shear to) {
  to.y = 0;
  if (is_text_list(value, Kind::number, 4)) {
    to.x = {value.items[0].number, value.items[1].number};
    to.y = {value.items[2].number, value.items[3].number};
  } else if (is_text_number(value) || is_text_list(value, Kind::number, 2)) {
    read_text(place, value, to.x);
  } else {
    refuse_text(place, value, "a number, (x_low, x_high) or (x_low, x_high, y_low, y_high)");
  }
}

void read_text(const TextPlace& place, const TextValue& value, Square to) {
  constexpr std::string_view kExpected = "one whole number of pixels for both sides";
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  const auto sides = read_text_numbers<int, 2>(place, value, -kMost, kMost, kExpected);
  if (sides[0] != sides[1]) refuse_text(place, value, kExpected);
  to.side = sides[0];
}

std::string show_text(bool value) {
  return value ? "True" : "False";
}
std::string show_text(const ImageSize& value) {
  return value.height == value.width ? fmt::format("{}", value.height)
                                     : fmt::format("({}, {})", value.height, value.width);
}
std::string show_text(const ResizeSize& value) {
  if (value.both) return fmt::format("({}, {})", value.both->height, value.both->width);
  return value.short_side == 0 ? "None" : fmt::format("{}", value.short_side);
}
std::string show_text(const RgbColor& value) {
  const bool is_grey = value[0] == value[1] && value[1] == value[2];
  return is_grey ? fmt::format("{}", value[0]) : fmt::format("({})", fmt::join(value, ", "));
}
std::string show_text(const Padding& value) {
  return value == Padding(value.left)
             ? fmt::format("{}", value.left)
             : fmt::format("({}, {}, {}, {})", value.left, value.top, value.right, value.bottom);
}
std::string show_text(const TurnCenter& value) {
  return value ? text_of_pair((*value)[0], (*value)[1]) : "None";
}
std::string show_text(const DegreeRange& value) {
  return text_of_range(value.min, value.max, 0);
}
std::string show_text(const FactorRange& value) {
  return text_of_range(value.min, value.max, 1);
}
std::string show_text(const HueRange& value) {
  return text_of_range(value.min, value.max, 0);
}
std::string show_text(const SigmaRange& value) {
  return value.min == value.max ? fmt::format("{}", value.min) : text_of_pair(value.min, value.max);
}
std::string show_text(const std::vector<int64_t>& value) {
  return value.size() == 1 ? fmt::format("{}", value[0])
                           : fmt::format("({})", fmt::join(value, ", "));
}
std::string show_text(const std::vector<double>& value) {
  return fmt::format("[{}]", fmt::join(value, ", "));
}
std::string show_text(LowHigh value) {
  return text_of_pair(value.low, value.high);
}
std::string show_text(OrNone value) {
  return value.number == 0 ? "None" : show_text(value.number);
}
std::string show_text(NumberOrRandom value) {
  return show_text(double{value.number});
}

std::string show_text(Shear value) {
  const bool has_y = value.y.min != 0 || value.y.max != 0;
  return has_y ? fmt::format("({}, {}, {}, {})", value.x.min, value.x.max, value.y.min, value.y.max)
               : show_text(value.x);
}
std::string show_text(Square value) {
  return show_text(value.side);
}

}  // namespace ffkit
