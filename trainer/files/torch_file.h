// Files of Python's torch.save(), of all its forms: what they hold, and the bytes of their numbers.
// Needs no libtorch.
//
//   zip      since torch 1.6: <name>/data.pkl, and the numbers of each storage in <name>/data/<key>
//            (torch/serialization.py)
//   pickles  before: a magic number, a version, the machine, the object, the keys of the storages;
//            behind them each storage's length and numbers
//   tar      before torch 0.2: sys_info, pickle, storages, tensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/file/file.h"
#include "files/state_dict.h"

namespace ffkit {

enum class TorchForm { none, zip, pickles, tar };
// The form of a file by its first bytes, which do not tell another zip or tar from torch.save()'s.
// Throws as File does.
TorchForm torch_form(const File& file);

// Memory for the numbers of a storage.
using StorageTarget =
    std::function<std::span<std::byte>(const std::string& storage, int64_t num_bytes)>;

// The state dict that `key` names (find_state_dict). The numbers of each storage that one of its
// tensors needs are read into what `target` gives, once and in this machine's byte order. Every
// tensor lies within its storage. What is claimed of `target` is no more than the file can hold
// (ArchiveReader). Throws Error(io), Error(corrupt), and Error(unsupported) for what is no state
// dict.
StateDict read_torch_file(const File& file, const std::string& key, const StorageTarget& target);

}  // namespace ffkit
