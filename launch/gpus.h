// The NVIDIA GPUs of this machine as the system shows them, without CUDA.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/launch/launch.h>

namespace ffkit {

// PCI addresses of the GPUs that a process may use, in the order of their numbers; empty strings
// for those whose address is not known. `root` is where /proc, /dev and /sys lie.
std::vector<std::string> gpu_addresses(const Environment& environment,
                                       const std::filesystem::path& root = "/");

// Why no GPU can be used although something says that there is one: a clause that follows "there
// seems to be a GPU, but "; empty when nothing does, or when GPUs were hidden on purpose
// (CUDA_VISIBLE_DEVICES empty or -1).
std::string why_no_gpu(const Environment& environment, const std::filesystem::path& root = "/");

// The number of the GPU for a process that sees `num_visible` >= 1 of them: its local rank, or 0
// where it was given one of its own. Throws Error(not_found) when it would share one with another
// process of this machine.
int gpu_of_rank(const ProcessPlace& place, int num_visible, const Environment& environment,
                const std::filesystem::path& root = "/");

}  // namespace ffkit
