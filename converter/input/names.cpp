#include "input/names.h"

#include "base/printable.h"

namespace ffkit {
namespace {

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string split_called(std::string word) {
  word = in_lower_case(word);
  const size_t length = static_cast<size_t>(std::ranges::find_if(word, is_decimal) - word.begin());
  const std::string number = word.substr(length);
  if (!std::ranges::all_of(number, is_decimal)) return {};
  word.resize(length);
  if (word == "training" || word == "testing") word.resize(word.size() - 3);
  if (word == "valid" || word == "validation") word = "val";
  const bool is_split = has_word("train val test dev eval trainval minival testdev", word);
  return is_split ? word + number : std::string();
}

}  // namespace ffkit
