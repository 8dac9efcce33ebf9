// What the published BEVFormer computes for given weights and frames: NAME.expected.json,
// NAME.expected.npz and MODEL.weights.json in a folder.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tasks/bevformer/network/bevformer_network.h"

namespace ffkit::testing {

struct Fixture {
  std::string name;
  nlohmann::json expected;
  nlohmann::json weights;
  std::map<std::string, at::Tensor> arrays;  // of the .npz

  BevFormerConfig config() const;
};

// The names of the fixtures in `folder`, sorted.
std::vector<std::string> fixture_names(const std::filesystem::path& folder);

// Throws when a file is missing or broken.
Fixture read_fixture(const std::filesystem::path& folder, const std::string& name);

// Its frames from the pictures of the nuScenes root: decoded, normalised, resized and padded.
// Throws when a picture is not that of the fixture.
std::vector<BevFrame> read_frames(const Fixture& fixture, const std::filesystem::path& root);

// Sets every parameter and buffer of `network` by the fixture's formula. Throws when names or
// shapes are others.
void set_weights(const Fixture& fixture, BevFormerNetwork& network);

}  // namespace ffkit::testing
