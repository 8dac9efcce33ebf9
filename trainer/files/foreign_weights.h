// Weights in forms that are not read here, each called by its name.
#pragma once

#include <filesystem>

namespace ffkit {

// Throws Error(unsupported) that says what `path`, which is neither a safetensors file nor one of
// torch.save(), is and what helps.
[[noreturn]] void refuse_foreign_weights(const std::filesystem::path& path);

// Throws Error(not_found) that says what weights of other forms lie in the folder, where it knows
// some.
void refuse_foreign_folder(const std::filesystem::path& folder);

}  // namespace ffkit
