// The 1,000 classes of ILSVRC2012, for data that comes without the devkit.
#pragma once

#include <span>
#include <string_view>

namespace ffkit {

struct ImageNetClass {
  std::string_view wnid;  // "n01440764"
  // "tench": the first of the synset's words; two pairs of classes share theirs (crane, maillot)
  std::string_view words;
};

// Sorted by wnid: class i is what everyone calls ImageNet's class i.
std::span<const ImageNetClass> imagenet_classes();

// True for "n" and eight digits, whether there is such a class or not.
bool is_wnid(std::string_view text);

}  // namespace ffkit
