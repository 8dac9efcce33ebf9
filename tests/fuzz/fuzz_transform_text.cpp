// A text of transforms of any bytes: options that validate() can judge, or an
// Error(invalid_argument).
#include <ffkit/image/image_options.h>

#include "touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ffkit::fuzzing::attempt([text] {
    ffkit::ImageOptions options;
    try {
      options = ffkit::parse_transforms(text);
    } catch (const ffkit::Error& error) {
      if (error.code() != ffkit::ErrorCode::invalid_argument) std::abort();
      return;
    }
    ffkit::validate(options);
  });
  return 0;
}
