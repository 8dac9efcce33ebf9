// Turns what libtorch throws into an ffkit::Error.
#pragma once

#include <c10/util/Exception.h>

#include <string>

#include <ffkit/base/error.h>

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
    const size_t no_kernel = message.find(" does not have a deterministic implementation");
    if (no_kernel != std::string::npos) {
      throw Error(ErrorCode::unsupported,
                  "deterministic is set, and libtorch's " + message.substr(0, no_kernel) +
                      " gives other bits in each run on a GPU; train without it, or on the CPU");
    }
    throw Error(ErrorCode::invalid_argument, "libtorch refused: " + message);
  }
}

}  // namespace ffkit
