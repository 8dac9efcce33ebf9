// How errors of libjpeg, which is C and reports them by longjmp, become ffkit::Error.
#pragma once

#include <csetjmp>
#include <cstddef>

#include "jpeg/libjpeg.h"

namespace ffkit {

// An error manager for one jpeg_(de)compress_struct: point its `err` at base(). Warnings are
// ignored, as Pillow does.
class JpegErrors {
 public:
  JpegErrors();
  JpegErrors(const JpegErrors&) = delete;
  JpegErrors& operator=(const JpegErrors&) = delete;

  jpeg_error_mgr* base() { return &state_.manager; }

  // Calls `body`, which may call libjpeg. When libjpeg fails in it, throws Error(corrupt),
  // Error(unsupported) or std::bad_alloc; the jump skips destructors, so that `body` must own
  // nothing.
  template <typename Body>
  void guard(size_t num_bytes, const Body& body) {
    if (setjmp(state_.jump) != 0) fail(num_bytes);
    body();
  }

 private:
  struct State {
    jpeg_error_mgr manager;  // first, so that libjpeg's pointer to it is a pointer to State
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
  };
  [[noreturn]] static void on_error(j_common_ptr common);
  [[noreturn]] void fail(size_t num_bytes) const;

  State state_;
};

}  // namespace ffkit
