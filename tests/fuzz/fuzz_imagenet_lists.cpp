// The text files that come with ImageNet, of any bytes: labels, or an Error. The first byte says
// which: 'm' for LOC_synset_mapping.txt, 'v' for LOC_val_solution.csv, 'g' for the devkit's ground
// truth.
#include "sources/imagenet/imagenet_lists.h"
#include "touch.h"

namespace {

const ffkit::Synsets kSynsets = {.wnids = {"n01440764", "n01443537", "n01484850"},
                                 .words = {"tench", "goldfish", "shark"},
                                 .label_of_id = {{1, 2}, {2, 0}, {30, 1}}};

void require_label(int64_t label) {
  if (label < 0 || label > 2) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  ffkit::fuzzing::attempt([&] {
    if (data[0] == 'm') {
      const ffkit::Synsets synsets = ffkit::parse_synset_mapping(text, "list");
      if (synsets.wnids.empty() || synsets.words.size() != synsets.wnids.size()) std::abort();
    } else if (data[0] == 'v') {
      for (const auto& [name, label] : ffkit::parse_val_solution(text, kSynsets, "list")) {
        if (name.empty()) std::abort();
        require_label(label);
      }
    } else if (data[0] == 'g') {
      for (const int64_t label : ffkit::parse_ground_truth(text, kSynsets, "list")) {
        require_label(label);
      }
    }
  });
  return 0;
}
