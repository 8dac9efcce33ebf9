// A .npy file of any bytes: a header whose numbers are all there, or an Error.
#include "format/schema/npy_header.h"
#include "touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  ffkit::fuzzing::attempt([file] {
    const ffkit::NpyHeader header = ffkit::read_npy_header(file);
    if (header.data_offset > file.size()) std::abort();
    size_t num_bytes = ffkit::size_of(header.dtype);
    for (const int64_t extent : header.shape) {
      if (extent < 0) std::abort();
      num_bytes *= static_cast<size_t>(extent);
    }
    if (num_bytes != file.size() - header.data_offset) std::abort();
    ffkit::fuzzing::touch(file.subspan(header.data_offset));
  });
  return 0;
}
