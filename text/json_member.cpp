#include "json_member.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit::text {

using Json = nlohmann::json;

const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

bool is_off(const Json& value) {
  return value.is_null() || value == false || value == "" || value == 0;
}

void refuse_kind(const std::filesystem::path& path, const std::string& what) {
  throw error_at(
      path, ErrorCode::unsupported,
      "has {}, which is not known; take a byte-level BPE like those of GPT-2, Llama 3 and Qwen",
      printable(what));
}

void require_known(const Json& object, std::initializer_list<const char*> names,
                   const std::string& place, const std::filesystem::path& path) {
  for (const auto& item : object.items()) {
    const bool is_known =
        std::ranges::any_of(names, [&](const char* name) { return item.key() == name; });
    if (!is_known && !is_off(item.value())) {
      refuse_kind(path, fmt::format("'{}' in {}", item.key(), place));
    }
  }
}

}  // namespace ffkit::text
