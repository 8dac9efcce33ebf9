// What sources make of the texts that they are given on the command line.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include <ffkit/converter/registry.h>
#include <ffkit/format/error.h>
#include <ffkit/format/option_names.h>
#include <ffkit/format/schema.h>

namespace ffkit {

// The dtype that the text `name` says, one of `allowed`, whose first is the default. Throws
// Error(invalid_argument) for another one.
DType dtype_of(const SourceArguments& arguments, const char* name,
               std::initializer_list<DType> allowed);

// The key of an option in texts (option_names.h): "max-depth" is max_depth.
std::string key_of(std::string name);

// The names in "train,val".
std::vector<std::string> parse_names(const std::string& text);

// Refuses what is not one of `allowed`, and what is there twice: Error(invalid_argument).
template <typename Names>
void require_names(const char* option, const std::vector<std::string>& given,
                   const Names& allowed) {
  for (auto name = given.begin(); name != given.end(); ++name) {
    const bool is_known = std::ranges::find(allowed, *name) != std::ranges::end(allowed);
    if (is_known && std::find(given.begin(), name, *name) == name) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: '{}' {}; there are {}", option_name(key_of(option)), *name,
                            is_known ? "is named twice" : "is unknown", fmt::join(allowed, ", ")));
  }
}

}  // namespace ffkit
