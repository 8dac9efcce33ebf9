#include "enum_names.h"

#include <fmt/ranges.h>

#include "make_error.h"

namespace ffkit {

void refuse_name(std::string_view what, std::string_view name, std::vector<std::string> names) {
  const std::string last = std::move(names.back());
  names.pop_back();
  throw error_of(ErrorCode::invalid_argument, "there is no {} '{}'; there are {} and {}", what,
                 name, fmt::join(names, ", "), last);
}

}  // namespace ffkit
