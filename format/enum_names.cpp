#include "enum_names.h"

#include <fmt/format.h>

#include <ffkit/format/error.h>

namespace ffkit {

void refuse_name(std::string_view name, std::string_view message) {
  throw Error(ErrorCode::invalid_argument, fmt::format(fmt::runtime(message), name));
}

}  // namespace ffkit
