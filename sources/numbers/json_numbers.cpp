#include "numbers/json_numbers.h"

namespace ffkit {

std::string json_excerpt(simdjson::dom::element value) {
  constexpr size_t kMaxBytes = 60;
  std::string text = simdjson::minify(value);
  if (text.size() > kMaxBytes) text.replace(kMaxBytes, std::string::npos, "...");
  return text;
}

int64_t json_whole_number(simdjson::dom::element value) {
  double real = 0;
  // Within +-2^53, where each real stands for one integer. is_double() would be true of integers
  // too.
  if (value.type() == simdjson::dom::element_type::DOUBLE &&
      value.get_double().get(real) == simdjson::SUCCESS && std::abs(real) <= 0x1p53 &&
      std::trunc(real) == real) {
    return static_cast<int64_t>(real);
  }
  return json_number<int64_t>(value);
}

std::vector<int64_t> json_shape(simdjson::dom::element value) {
  std::vector<int64_t> shape;
  simdjson::dom::array array;
  while (value.get_array().get(array) == simdjson::SUCCESS) {
    // Not size(), which stops counting at 2^24.
    int64_t num_items = 0;
    for ([[maybe_unused]] const simdjson::dom::element item : array) ++num_items;
    shape.push_back(num_items);
    if (num_items == 0) break;
    value = *array.begin();
  }
  return shape;
}

}  // namespace ffkit
