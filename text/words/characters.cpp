#include "characters.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

namespace ffkit::text {
namespace {

constexpr std::array<std::string_view, 29> kNames = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"};

}  // namespace

CategorySet categories_called(std::string_view name) {
  CategorySet found = 0;
  for (size_t i = 0; i < kNames.size(); ++i) {
    const bool is_meant = name.size() == 1 ? kNames[i].starts_with(name) : kNames[i] == name;
    if (is_meant) found |= CategorySet{1} << i;
  }
  const CategorySet controls = set_of(Category::cc);
  return (found & controls) != 0 ? found | set_of(Category::control_space) : found;
}

const uint8_t* character_table() {
  static const std::vector<uint8_t> kTable = [] {
    std::vector<uint8_t> table(0x110000);
    const std::vector<uint32_t>& ranges = character_ranges();
    for (size_t i = 0; i < ranges.size(); ++i) {
      const size_t end = i + 1 < ranges.size() ? ranges[i + 1] >> 8 : table.size();
      std::fill(table.begin() + (ranges[i] >> 8), table.begin() + static_cast<std::ptrdiff_t>(end),
                static_cast<uint8_t>(ranges[i] & 0xFF));
    }
    return table;
  }();
  return kTable.data();
}

bool is_valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace ffkit::text
