#include "input/names.h"

#include <array>
#include <cctype>

namespace ffkit {
namespace {

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string split_called(std::string word) {
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const size_t length = static_cast<size_t>(std::ranges::find_if(word, is_decimal) - word.begin());
  const std::string number = word.substr(length);
  if (!std::ranges::all_of(number, is_decimal)) return {};
  word.resize(length);
  constexpr std::array<std::array<const char*, 2>, 12> kNames = {{{"train", "train"},
                                                                  {"training", "train"},
                                                                  {"val", "val"},
                                                                  {"valid", "val"},
                                                                  {"validation", "val"},
                                                                  {"test", "test"},
                                                                  {"testing", "test"},
                                                                  {"dev", "dev"},
                                                                  {"eval", "eval"},
                                                                  {"trainval", "trainval"},
                                                                  {"minival", "minival"},
                                                                  {"testdev", "testdev"}}};
  for (const auto& [written, name] : kNames) {
    if (word == written) return name + number;
  }
  return {};
}

}  // namespace ffkit
