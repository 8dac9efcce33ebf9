// .pth files: the state dict of a model as Python's torch.save() writes it (torch_file.h), as
// tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/trainer/model.h>

#include "base/file/file.h"
#include "files/state_dict.h"

namespace ffkit {

struct Pth {
  std::vector<NamedTensor> tensors;
  std::vector<UnreadTensor> unread;
  std::string prefix;              // of the names that `key` asked for, beyond a dict
  std::vector<std::string> notes;  // sentences on what was chosen and left out
};

// The state dict in `file` that `key` names (find_state_dict). On the CPU, with the strides of the
// file: a tensor may be larger than the file. Throws as read_torch_file().
Pth read_pth(const File& file, const std::string& key = {});

// Writes `path` atomically, replacing what was there: a dict of tensors that
// torch.load(weights_only=True) gives back. Throws Error(io).
void write_pth(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors);

// The same as RootNet's code keeps its checkpoints: {"epoch": epoch, "network": a dict of the
// tensors, whose names begin with "module."}.
void write_snapshot(const std::filesystem::path& path, int64_t epoch,
                    const std::vector<NamedTensor>& tensors);

}  // namespace ffkit
