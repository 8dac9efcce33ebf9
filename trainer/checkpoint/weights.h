// Weights: the tensors of a model in a file that fftrain or Python wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

struct Weights {
  std::filesystem::path path;
  std::vector<NamedTensor> tensors;  // under the names of the model
};

// Whether `path` is a safetensors file or .pth without fftrain's metadata: weights alone, not the checkpoint of a run. False for a folder. Throws
// Error(not_found), Error(io), Error(corrupt).
bool holds_weights_alone(const std::filesystem::path& path);

// Reads a .pth file, a safetensors file, or the weights of a checkpoint, also of one in parts, whichever it is. A prefix that all names have, "module." of
// DistributedDataParallel or "_orig_mod." of torch.compile, is taken off. Throws as read_pth() and read_safetensors().
Weights read_weights(const std::filesystem::path& path);

// Writes the tensors to `path`, by its ending a safetensors or a .pth file; snapshot_N.pth.tar as RootNet's code does
// (write_snapshot). Throws Error(invalid_argument) for another ending and when `path` exists, Error(io).
void write_weights(const Weights& weights, const std::filesystem::path& path);

// The rows of the head that `rules` name. Throws Error(invalid_argument) when there is none.
int64_t head_rows(const Weights& weights, const WeightRules& rules);

enum class HeadPolicy {
  must_fit,
  may_differ,  // a head with another number of rows stays as it was drawn
};

// Copies `weights` into `model` by `rules`; other floating point formats are converted. Every tensor must be there and have its shape, and
// there must be no other, but that counts of batches may be missing, as in files from before torch 0.4.1. Otherwise throws
// Error(invalid_argument) naming the first tensor that does not fit, and nothing is changed. False: the head was left alone.
bool load_weights(const Weights& weights, const WeightRules& rules, Model& model,
                  HeadPolicy policy);

}  // namespace ffkit
