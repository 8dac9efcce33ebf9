#include "sources/numbers/json_numbers.h"

namespace ffkit {

std::string json_excerpt(simdjson::dom::element value) {
  constexpr size_t kMaxBytes = 60;
  std::string text = simdjson::minify(value);
  if (text.size() > kMaxBytes) text.replace(kMaxBytes, std::string::npos, "...");
  return text;
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
