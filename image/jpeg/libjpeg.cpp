#include "jpeg/libjpeg.h"

#include <new>

#include "base/make_error.h"

namespace ffkit {

JpegErrors::JpegErrors() {
  jpeg_std_error(&state_.manager);
  state_.manager.error_exit = on_error;
  state_.manager.emit_message = [](j_common_ptr, int) {};
  state_.manager.output_message = [](j_common_ptr) {};
}

void JpegErrors::on_error(j_common_ptr common) {
  auto* state = reinterpret_cast<State*>(common->err);
  state->manager.format_message(common, state->message);
  std::longjmp(state->jump, 1);
}

void JpegErrors::fail(size_t num_bytes) const {
  switch (state_.manager.msg_code) {
    case JERR_INPUT_EOF:
      throw error_of(ErrorCode::corrupt,
                     "truncated JPEG: its {} bytes are not the whole picture; get the file again",
                     num_bytes);
    case JERR_OUT_OF_MEMORY:
      throw std::bad_alloc();
    case JERR_IMAGE_TOO_BIG:
      throw error_of(ErrorCode::corrupt,
                     "broken JPEG, or a side has more than {} pixels, which libjpeg does not read; "
                     "get the file again, or save it as PNG",
                     JPEG_MAX_DIMENSION);
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
#if JPEG_LIB_VERSION < 70  // the ABIs 7 and 8 always know arithmetic coding
    case JERR_ARITH_NOTIMPL:
#endif
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
      throw error_of(ErrorCode::unsupported,
                     "this kind of JPEG is not supported (libjpeg: {}); convert it to an 8-bit "
                     "baseline JPEG or a PNG",
                     state_.message);
    default:
      throw error_of(ErrorCode::corrupt, "broken JPEG (libjpeg: {}); get the file again",
                     state_.message);
  }
}

}  // namespace ffkit
