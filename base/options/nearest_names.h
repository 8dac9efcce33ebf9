// nearest_names: what somebody may have meant by a name that there is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

// The three of `names` that need the fewest letters changed, added or left out to become `name`,
// nearest first; '_' and '-' are the same.
std::vector<std::string> nearest_names(std::string_view name, std::vector<std::string> names);

}  // namespace ffkit
