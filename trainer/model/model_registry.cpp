#include "model/model_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/make_error.h"

namespace ffkit {

const ModelEntry& ModelRegistry::find(std::string_view name) const {
  for (const ModelEntry& entry : entries_) {
    if (entry.name == name) return entry;
  }
  throw error_of(ErrorCode::invalid_argument, "there is no arch '{}'; there are {}", name,
                 fmt::join(names(), ", "));
}

std::vector<std::string> ModelRegistry::names() const {
  std::vector<std::string> names;
  for (const ModelEntry& entry : entries_) names.push_back(entry.name);
  return names;
}

}  // namespace ffkit
