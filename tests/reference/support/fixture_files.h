// Files of numbers that others' code computed: NAME.expected.json, NAME.expected.npz,
// NAME.weights.json.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ffkit::testing {

// Throws std::runtime_error.
[[noreturn]] void fail(const std::string& what);

nlohmann::json read_json(const std::filesystem::path& file);
std::vector<char> read_all(const std::filesystem::path& file);
std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& file);

// Sets every parameter and buffer of `network` by the formula of a file of weights. Throws when
// names or shapes are others.
void set_weights(const nlohmann::json& weights, torch::nn::Module& network);

}  // namespace ffkit::testing
