// A meta.mat of any bytes: classes, or an Error.
#include "sources/imagenet/imagenet_lists.h"
#include "touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ffkit::fuzzing::attempt([&] {
    const ffkit::Synsets synsets =
        ffkit::parse_meta_mat(std::as_bytes(std::span(data, size)), "meta.mat");
    const size_t num_classes = synsets.wnids.size();
    if (num_classes == 0 || synsets.words.size() != num_classes ||
        synsets.label_of_id.size() != num_classes || !std::ranges::is_sorted(synsets.wnids)) {
      std::abort();
    }
  });
  return 0;
}
