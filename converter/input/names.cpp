#include "input/names.h"

#include "base/printable.h"

namespace ffkit {

std::string split_called(std::string word) {
  constexpr const char* kDigits = "0123456789";
  word = in_lower_case(word);
  const size_t length = std::min(word.find_first_of(kDigits), word.size());
  const std::string number = word.substr(length);
  if (number.find_first_not_of(kDigits) != std::string::npos) return {};
  word.resize(length);
  if (word == "training" || word == "testing") word.resize(word.size() - 3);
  if (word == "valid" || word == "validation") word = "val";
  const bool is_split = has_word("train val test dev eval trainval minival testdev", word);
  return is_split ? word + number : std::string();
}

}  // namespace ffkit
