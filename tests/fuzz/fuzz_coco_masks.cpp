// A segmentation of COCO in JSON: runs of pixels that lie in the picture, or an Error.
#include <simdjson.h>

#include "sources/coco/coco_masks.h"
#include "touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const simdjson::padded_string json(reinterpret_cast<const char*>(bytes), size);
  ffkit::fuzzing::attempt([&json] {
    simdjson::dom::parser parser;
    simdjson::dom::element value;
    if (parser.parse(json).get(value) != simdjson::SUCCESS) return;
    for (const ffkit::PixelRun& run :
         ffkit::runs_of_segmentation(value, {.width = 20, .height = 15}, [](const auto&...) {})) {
      if (run.begin < 0 || run.begin >= run.end || run.end > 300) std::abort();
    }
  });
  // The text alone, which JSON rarely has.
  ffkit::fuzzing::attempt([bytes, size] {
    for (const int64_t length :
         ffkit::run_lengths_of_text(std::string_view(reinterpret_cast<const char*>(bytes), size))) {
      if (length < 0) std::abort();
    }
  });
  return 0;
}
