#include "coco/coco_ids.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "numbers/json_numbers.h"
#include "numbers/json_tables.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_id(std::string_view key, const std::string& what) {
  throw error_of(ErrorCode::invalid_argument, "'{}': {}", key, what);
}

}  // namespace

int64_t CocoIds::take(const simdjson::dom::object& object, std::string_view key) {
  simdjson::dom::element value;
  if (!find_member(object, key, value)) {
    throw error_of(ErrorCode::invalid_argument, "has no '{}'", key);
  }
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    int64_t number = 0;
    try {
      number = json_whole_number(value);
    } catch (const Error& error) {
      refuse_id(key, error.what());
    }
    if (is_text()) {
      refuse_id(key, fmt::format("{} is a number, but ids before it are texts such as {}; Python "
                                 "keeps them apart, so write all of them alike",
                                 number, json(0)));
    }
    has_numbers_ = true;
    return number;
  }
  if (has_numbers_) {
    refuse_id(key, fmt::format("{} is a text, but ids before it are numbers; Python keeps them "
                               "apart, so write all of them alike",
                               json_excerpt(value)));
  }
  const auto [found, is_new] = number_of_.try_emplace(std::string(text), std::ssize(texts_));
  if (is_new) texts_.emplace_back(text);
  return found->second;
}

std::string CocoIds::json(int64_t number) const {
  return is_text() ? nlohmann::json(text(number)).dump() : std::to_string(number);
}

}  // namespace ffkit
