// Members of plain options as parameters of a call: read from a TextValue, and shown as Python
// writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transform_text/text_value.h"
#include "transform_text/transform_table.h"

namespace ffkit {

// What is read, for messages.
struct TextPlace {
  std::string_view transform;
  std::string_view parameter;
};

// Throws Error(invalid_argument): "<transform> <parameter> is <value>; expected <expected>".
[[noreturn]] void refuse_text(const TextPlace& place, const TextValue& value,
                              std::string_view expected);

// All throw as refuse_text() does for a value of another kind. Ranges of numbers are left to
// validate().
void read_text(const TextPlace& place, const TextValue& value, bool& to);
void read_text(const TextPlace& place, const TextValue& value, int& to);
void read_text(const TextPlace& place, const TextValue& value, int64_t& to);
void read_text(const TextPlace& place, const TextValue& value, double& to);
void read_text(const TextPlace& place, const TextValue& value, ImageSize& to);
void read_text(const TextPlace& place, const TextValue& value, RgbColor& to);
void read_text(const TextPlace& place, const TextValue& value, Padding& to);
// None, or (x, y)
void read_text(const TextPlace& place, const TextValue& value, TurnCenter& to);
void read_text(const TextPlace& place, const TextValue& value, DegreeRange& to);
void read_text(const TextPlace& place, const TextValue& value, FactorRange& to);
void read_text(const TextPlace& place, const TextValue& value, HueRange& to);
void read_text(const TextPlace& place, const TextValue& value, SigmaRange& to);
void read_text(const TextPlace& place, const TextValue& value, Interpolation& to);
void read_text(const TextPlace& place, const TextValue& value, WarpFilter& to);
void read_text(const TextPlace& place, const TextValue& value, AutoAugmentPolicy& to);
void read_text(const TextPlace& place, const TextValue& value, std::vector<int64_t>& to);
void read_text(const TextPlace& place, const TextValue& value, std::vector<double>& to);
void read_text(const TextPlace& place, const TextValue& value, LowHigh to);
void read_text(const TextPlace& place, const TextValue& value, OrNone to);
void read_text(const TextPlace& place, const TextValue& value, NumberOrRandom to);

std::string show_text(bool value);
std::string show_text(int value);
std::string show_text(int64_t value);
std::string show_text(double value);
std::string show_text(const ImageSize& value);
std::string show_text(const RgbColor& value);
std::string show_text(const Padding& value);
std::string show_text(const TurnCenter& value);
std::string show_text(const DegreeRange& value);
std::string show_text(const FactorRange& value);
std::string show_text(const HueRange& value);
std::string show_text(const SigmaRange& value);
std::string show_text(Interpolation value);
std::string show_text(WarpFilter value);
std::string show_text(AutoAugmentPolicy value);
std::string show_text(const std::vector<int64_t>& value);
std::string show_text(const std::vector<double>& value);
std::string show_text(LowHigh value);
std::string show_text(OrNone value);
std::string show_text(NumberOrRandom value);

}  // namespace ffkit
