#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>

#include "files/pth.h"
#include "files/torch_file.h"
#include "files/torch_types.h"

namespace ffkit {

Pth read_pth(const std::filesystem::path& path, const std::string& key) {
  std::map<std::string, at::Tensor> storages;
  StateDict dict = read_torch_file(
      path, key, [&](const std::string& storage, int64_t num_bytes) -> std::span<std::byte> {
        at::Tensor& bytes = storages[storage] = at::empty({num_bytes}, at::kByte);
        return {static_cast<std::byte*>(bytes.mutable_data_ptr()), size_t(num_bytes)};
      });
  Pth pth{.tensors = {},
          .unread = std::move(dict.unread),
          .prefix = std::move(dict.prefix),
          .notes = std::move(dict.notes)};
  for (const StoredTensor& t : dict.tensors) {
    const auto* type = std::ranges::find(kFileTypes, t.type->name, &FileType::torch);
    if (type == kFileTypes.end()) {
      pth.unread.push_back({t.name, "is a torch." + std::string(t.type->name)});
      continue;
    }
    at::Tensor tensor = at::empty({0}, at::TensorOptions(type->type));
    tensor.set_(storages.at(t.storage).storage(), t.offset, t.sizes, t.strides);
    pth.tensors.push_back({t.name, std::move(tensor)});
  }
  return pth;
}

}  // namespace ffkit
