// The tensors in a pickle of torch.save(): which of its dicts are a model's, and where the numbers
// of their tensors are. Nothing is run: of the functions that a pickle names, those that make
// tensors are recognised and all others refused. Needs no libtorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/pickle.h"

namespace ffkit {

// Numbers of one type, as torch names them.
struct TorchType {
  std::string_view name;     // "float32"
  std::string_view storage;  // "FloatStorage"; empty: only in untyped storages
  int64_t num_bytes = 0;     // of an element
  int64_t word_bytes = 0;    // what a big-endian file has the wrong way round
};
// "'a', 'b' and 3 more", for messages.
std::string listed(const std::vector<std::string>& names, size_t most = 8);

// `type`: "torch.FloatStorage". Null when there is none.
const TorchType* find_torch_storage(std::string_view type);
// What is read is no file of tensors, or a damaged one.
[[noreturn]] void refuse_tensors(const std::string& message);
[[noreturn]] void throw_corrupt_tensors(const std::string& message);

struct StoredTensor {
  std::string name;
  const TorchType* type = nullptr;
  std::string storage;
  int64_t offset = 0;  // in elements, as the strides are
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

// A tensor whose numbers cannot be read here, such as a sparse one.
struct UnreadTensor {
  std::string name;
  std::string what;  // "is made by torch._utils._rebuild_sparse_tensor"
};

struct StateDict {
  std::vector<StoredTensor> tensors;
  std::vector<UnreadTensor> unread;
  std::string prefix;              // of the names that were asked for
  std::vector<std::string> notes;  // sentences on what was chosen and left out
};

// The tensors that torch before 0.2 kept outside of its pickle, by number.
using OutsideTensors = std::map<std::string, StoredTensor>;

// The state dict that `key` names ("ema", "ema.state_dict"); of those that the root or dicts in it
// hold, or a whole module that was pickled. What remains of the key begins the names of the tensors
// that are asked for. `key` empty: the one that training scripts call the model's. Throws
// Error(unsupported) where there is none, or none can be preferred, and for calls of what makes no
// tensor; Error(corrupt).
StateDict find_state_dict(const Pickle& pickle, const std::string& key,
                          const OutsideTensors& outside = {});

// A storage that the pickle refers to, whether its tensors are asked for or not.
struct NamedStorage {
  std::string key;
  std::string type;  // "torch.FloatStorage"
};
std::vector<NamedStorage> all_storages(const Pickle& pickle);

}  // namespace ffkit
