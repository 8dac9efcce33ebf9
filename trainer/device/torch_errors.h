// Turns what libtorch throws into an ffkit::Error.
#pragma once

#include <c10/util/Exception.h>

#include <string>

#include <ffkit/format/error.h>

namespace ffkit {

// Runs `body`; what libtorch throws leaves as an ffkit::Error of one sentence, without its
// backtrace.
template <typename Body>
auto with_torch_errors(Body body) {
  try {
    return body();
  } catch (const c10::Error& e) {
    std::string message = e.what_without_backtrace();
    message = message.substr(0, message.find('\n'));
    throw Error(ErrorCode::invalid_argument, "libtorch refused: " + message);
  }
}

}  // namespace ffkit
