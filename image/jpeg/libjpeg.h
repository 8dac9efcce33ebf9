// libjpeg's interface, and how its errors become ffkit::Error: it is C and reports them by longjmp.
// jpeglib.h itself does not include what it needs.
#pragma once

#include <csetjmp>

// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace ffkit {

// The side of a block in pixels, after scaling: of a component, and the least of all components.
// libjpeg's ABIs 7 and 8 have two names for it; libjpeg-turbo sets both alike.
inline int scaled_block_size(const jpeg_component_info& component) {
#if JPEG_LIB_VERSION >= 70
  return component.DCT_h_scaled_size;
#else
  return component.DCT_scaled_size;
#endif
}
inline int least_scaled_block_size(const jpeg_decompress_struct& info) {
#if JPEG_LIB_VERSION >= 70
  return info.min_DCT_h_scaled_size;
#else
  return info.min_DCT_scaled_size;
#endif
}

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
