// Names of splits as people write them.
#pragma once

#include <string>

namespace ffkit {

// The split called `word`, as the trainer looks for it: "val" for "Validation" and "valid", "train"
// for "Training", "train2017" for "Train2017". Empty for a word that is no split's name.
std::string split_called(std::string word);

}  // namespace ffkit
