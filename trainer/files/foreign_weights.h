// Weights as other programs keep them: in folders and in several files (transformers' large models:
// model.safetensors.index.json, or pytorch_model.bin.index.json, names the file of each tensor),
// and in forms that are not read here, each called by its name.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file/file.h"

namespace ffkit {

// The weights in a folder of Hugging Face's: model.safetensors, pytorch_model.bin, or the index of
// either, in the order of transformers.
std::optional<std::filesystem::path> weights_in_folder(const std::filesystem::path& folder);

bool is_weights_index(const std::filesystem::path& path);

struct WeightsIndex {
  std::vector<std::filesystem::path> files;              // by name
  std::map<std::string, std::filesystem::path> file_of;  // by name of a tensor
};
// Throws Error(not_found) for a file that is not there, Error(corrupt) for what is no index.
WeightsIndex read_weights_index(const std::filesystem::path& path);

// The index beside `path` that names it; nothing where it is no shard.
std::optional<std::filesystem::path> index_of_shard(const std::filesystem::path& path);

// Throws Error(unsupported) that says what `file`, which is neither a safetensors file nor one of
// torch.save(), is and what helps.
[[noreturn]] void refuse_foreign_weights(const File& file);

// Throws Error(not_found) that says what weights of other forms lie in the folder, where it knows
// some.
void refuse_foreign_folder(const std::filesystem::path& folder);

}  // namespace ffkit
