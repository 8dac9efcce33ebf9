// Weights of a backbone that was trained for something else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tasks/bevformer/network/bevformer_network.h"

namespace ffkit {

// Copies weights into the backbone of `network`: of torchvision's ResNet (its layer fc is left
// out), or of a detector's backbone, whose names begin with "img_backbone." or "backbone.", and
// returns sentences on what was chosen and left out. `key`: as read_weights() takes it. Throws as
// read_weights() and load_weights().
std::vector<std::string> load_backbone(const std::filesystem::path& file, const std::string& key,
                                       BevFormerNetwork& network);

}  // namespace ffkit
