// An environment of given variables.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <ffkit/launch/launch.h>

namespace ffkit::testing {

using GivenVariables = std::map<std::string, std::string>;

inline Environment environment_of(GivenVariables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
}

}  // namespace ffkit::testing
