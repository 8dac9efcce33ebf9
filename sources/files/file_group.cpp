#include "files/file_group.h"

#include <exception>

#include "archives/parallel_io.h"
#include "converter/input/source_error.h"

namespace ffkit {

std::vector<FileStamp> stamps_of_objects(const std::vector<std::filesystem::path>& addresses) {
  std::vector<FileStamp> stamps(addresses.size());
  std::vector<std::exception_ptr> errors(addresses.size());
  parallel_io(addresses.size(), [&](size_t i) {
    try {
      std::error_code missing;
      stamps[i] = stamp_of(addresses[i], missing);
      if (missing) {
        throw source_error(absolute_name(addresses[i]), ErrorCode::not_found,
                           "there is no such object");
      }
    } catch (...) {
      errors[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return stamps;
}

}  // namespace ffkit
