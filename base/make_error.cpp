#include "make_error.h"

namespace ffkit {

Error error_at(const std::filesystem::path& path, ErrorCode code, const std::string& message) {
  return {code, message, {.path = path.string()}};
}

Error dataset_error(const std::filesystem::path& path, ErrorCode code, const std::string& message) {
  return error_at(path, code, message).with_subject(ErrorSubject::dataset);
}

Error argument_error(const std::string& name, const std::string& message) {
  return {ErrorCode::invalid_argument, message, {.subject = ErrorSubject::argument, .name = name}};
}

Error io_error_at(const std::filesystem::path& path, const std::string& message, int errno_value) {
  return {ErrorCode::io, message, {.path = path.string(), .errno_value = errno_value}};
}

void require_done(const std::error_code& error, const std::filesystem::path& path,
                  const std::string& message) {
  if (error) throw io_error_at(path, message, error.value());
}

}  // namespace ffkit
