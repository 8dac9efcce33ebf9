// read_manifest() of any bytes: a Manifest or an Error.
#include <cstdlib>
#include <span>

#include <ffkit/base/error.h>
#include <ffkit/format/manifest.h>

#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ffkit::testing::MemoryFile file;
  file.assign(std::as_bytes(std::span(data, size)));
  try {
    const ffkit::Manifest manifest = ffkit::read_manifest(file.path());
    if (manifest.num_records() < 0 || manifest.file_bytes() < 0) std::abort();
    static_cast<void>(manifest.fingerprint());
  } catch (const ffkit::Error&) {
  }
  return 0;
}
