// .pth files: the state dict of a model as Python's torch.save() writes it. A zip with a pickle, <name>/data.pkl, and the numbers of each storage in
// <name>/data/<key> (torch/serialization.py). The pickle is never run: of the functions it names, those that make tensors are
// recognised and all others refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

// Whether the file begins as a zip, or as the pickle of torch before 1.6, which read_pth() refuses.
bool looks_like_pth(const std::filesystem::path& path);

// The tensors of the state dict in `path`: of the pickled dict itself, or of the dict that it holds as 'state_dict', 'model', 'model_state_dict' or 'network',
// as training scripts write it. On the CPU, with the strides of the file: a tensor may be larger than the file. Allocates no more than the file has
// bytes. Throws Error(not_found), Error(io), Error(corrupt) for a damaged file and Error(unsupported) for what is no state dict.
std::vector<NamedTensor> read_pth(const std::filesystem::path& path);

// Writes `path` atomically, replacing what was there: a dict of tensors that torch.load(weights_only=True) gives back. Throws Error(io).
void write_pth(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors);

// The same as RootNet's code keeps its checkpoints: {"epoch": epoch, "network": a dict of the tensors, whose names begin with "module."}.
void write_snapshot(const std::filesystem::path& path, int64_t epoch,
                    const std::vector<NamedTensor>& tensors);

}  // namespace ffkit
