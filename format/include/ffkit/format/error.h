// Errors: one exception type for the whole library.
//
// Every failure that leaves a public function is an ffkit::Error. Its message is one sentence that
// names the file, the record where there is one, what was expected against what was found, and what
// the user can do about it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ffkit {

enum class ErrorCode {
  not_found,         // a file, split or field does not exist
  corrupt,           // the bytes contradict their checksum or the format
  io,                // the operating system refused or failed
  invalid_argument,  // the caller asked for something that makes no sense
  unsupported,       // valid, but not handled here (newer version, other codec, ...)
  cancelled,         // stopped on request
};

// Returns the name of `code` as written above.
const char* to_string(ErrorCode code);

// Where an error happened; members that do not apply keep their defaults.
struct ErrorContext {
  std::string path;     // file or folder
  int64_t record = -1;  // record number within `path` (or within the data set when path is one)
  int64_t offset = -1;  // byte offset in `path`
  int errno_value = 0;  // errno of the failed system call
};

class Error : public std::runtime_error {
 public:
  // what() becomes "<path>: record <r>: offset <o>: <message>: <ERRNO name and text>", parts that
  // are unset left out.
  Error(ErrorCode code, const std::string& message, ErrorContext context = {});

  ErrorCode code() const { return code_; }
  const ErrorContext& context() const { return context_; }

 private:
  ErrorCode code_;
  ErrorContext context_;
};

}  // namespace ffkit
