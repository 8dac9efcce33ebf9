// Lists of names that are given for an option, such as splits.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"

namespace ffkit {

// Refuses what is not one of `allowed`, and what is there twice: Error(invalid_argument). `option`
// is its key, as in option_names.h.
template <typename Names>
void require_names(const char* option, const std::vector<std::string>& given,
                   const Names& allowed) {
  for (auto name = given.begin(); name != given.end(); ++name) {
    const bool is_known = std::ranges::find(allowed, *name) != std::ranges::end(allowed);
    if (is_known && std::find(given.begin(), name, *name) == name) continue;
    throw argument_error(
        option, is_known ? fmt::format("{}: '{}' appears twice; give each name once",
                                       option_name(option), *name)
                         : fmt::format("{}: '{}' is unknown; the known names are {}",
                                       option_name(option), *name, fmt::join(allowed, ", ")));
  }
}

// Refuses what is there twice.
inline void require_different(const char* option, const std::vector<std::string>& given) {
  require_names(option, given, given);
}

// Names of splits as people write them.

// The split called `word`, as the trainer looks for it: "val" for "Validation" and "valid", "train"
// for "Training", "train2017" for "Train2017". Empty for a word that is no split's name.
std::string split_called(std::string word);

}  // namespace ffkit
