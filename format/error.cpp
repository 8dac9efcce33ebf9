#include <fmt/format.h>

#include <cstring>

#include <ffkit/format/error.h>

#include "printable.h"

namespace ffkit {
namespace {

std::string compose(const std::string& message, const ErrorContext& context) {
  std::string text;
  if (!context.path.empty()) text += context.path + ": ";
  if (context.record >= 0) text += fmt::format("record {}: ", context.record);
  if (context.offset >= 0) text += fmt::format("offset {}: ", context.offset);
  text += message;
  if (context.errno_value != 0) {
    const char* name = strerrorname_np(context.errno_value);
    const char* description = strerrordesc_np(context.errno_value);
    text += fmt::format(": {} ({})", description != nullptr ? description : "unknown error",
                        name != nullptr ? name : std::to_string(context.errno_value));
  }
  // Names of files and of archives' members may hold anything; a message is one line.
  return printable(text);
}

}  // namespace

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::io:
      return "io";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& message, ErrorContext context)
    : std::runtime_error(compose(message, context)), code_(code), context_(std::move(context)) {}

}  // namespace ffkit
