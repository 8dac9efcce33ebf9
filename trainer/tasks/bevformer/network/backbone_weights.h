// Weights of a backbone that was trained for something else.
#pragma once

#include <filesystem>

#include "tasks/bevformer/network/bevformer_network.h"

namespace ffkit {

// Copies weights into the backbone of `network`: of torchvision's ResNet (its layer fc is left out), or of a detector's backbone, whose names begin with
// "img_backbone." or "backbone.". Throws as read_weights() and load_weights().
void load_backbone(const std::filesystem::path& file, BevFormerNetwork& network);

}  // namespace ffkit
