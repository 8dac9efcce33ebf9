// The lists that come with Kaggle's copy of ImageNet (CLS-LOC): LOC_synset_mapping.txt and
// LOC_val_solution.csv.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "imagenet/devkit.h"

namespace ffkit {

// Lines "n01440764 tench, Tinca tinca", in any order: class i is the i-th wnid when sorted.
// `origin` stands for the file in messages; throws Error(corrupt) naming the line.
Synsets parse_synset_mapping(std::string_view text, const std::string& origin);

// Lines "ILSVRC2012_val_00000001,n03995372 85 1 499 272 ...", one wnid and box after the other, all
// of the same class, below the heading "ImageId,PredictionString". Returns the class of each
// picture by its name without ending; throws Error(corrupt) naming the line.
std::map<std::string, int64_t> parse_val_solution(std::string_view text, const Synsets& synsets,
                                                  const std::string& origin);

}  // namespace ffkit
