#include "errors_only.h"

#include <fmt/format.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace ffkit {
namespace {

[[noreturn]] void not_enough_memory(const std::filesystem::path& path, int64_t record,
                                    const char* remedy) {
  throw Error(
      ErrorCode::io,
      fmt::format("there is not enough memory{}; {}", record < 0 ? "" : " for the record", remedy),
      {.path = path.string(), .record = record, .errno_value = ENOMEM});
}

}  // namespace

bool is_out_of_memory(const Error& error) {
  return error.context().errno_value == ENOMEM;
}

void rethrow_as_error(const std::filesystem::path& path, int64_t record, const char* remedy) {
  try {
    throw;
  } catch (const Error& error) {
    // Of a function that knows no file.
    if (is_out_of_memory(error) && error.context().path.empty())
      not_enough_memory(path, record, remedy);
    throw;
  } catch (const std::bad_alloc&) {
    not_enough_memory(path, record, remedy);
  } catch (const std::length_error&) {  // more elements than any container may have
    not_enough_memory(path, record, remedy);
  } catch (const std::filesystem::filesystem_error& error) {
    const int number = error.code().value();
    throw Error(number == ENOENT || number == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                "cannot be examined; check the path and its permissions",
                {.path = (error.path1().empty() ? path : error.path1()).string(),
                 .record = record,
                 .errno_value = number});
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io, "the system refused what was asked of it",
                {.path = path.string(), .record = record, .errno_value = error.code().value()});
  }
}

}  // namespace ffkit
