#include "files/pth.h"

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <algorithm>
#include <exception>
#include <map>

#include "files/safetensors.h"
#include "files/torch_file.h"

namespace ffkit {

Pth read_pth(const File& file, const std::string& key) {
  std::map<std::string, at::Tensor> storages;
  StateDict dict = read_torch_file(
      file, key, [&](const std::string& storage, int64_t num_bytes) -> std::span<std::byte> {
        at::Tensor& bytes = storages[storage] = at::empty({num_bytes}, at::kByte);
        return {static_cast<std::byte*>(bytes.mutable_data_ptr()), static_cast<size_t>(num_bytes)};
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

namespace {

// A storage is written whole: no more of it than the tensor.
at::Tensor dense(const at::Tensor& tensor) {
  const at::Tensor t = tensor.detach().contiguous();
  return t.storage().nbytes() == t.nbytes() ? t : t.clone();
}

c10::Dict<std::string, at::Tensor> dict_of(const std::vector<NamedTensor>& tensors,
                                           const std::string& prefix) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const NamedTensor& t : tensors) dict.insert(prefix + t.name, dense(t.tensor));
  return dict;
}

void write_archive(caffe2::serialize::PyTorchStreamWriter& zip, const c10::IValue& dict) {
  std::string pickle;
  torch::jit::Pickler pickler([&](const char* data, size_t size) { pickle.append(data, size); },
                              nullptr, nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dict);
  pickler.stop();
  zip.writeRecord("data.pkl", pickle.data(), pickle.size());
  constexpr std::string_view kByteOrder = "little";
  zip.writeRecord("byteorder", kByteOrder.data(), kByteOrder.size());
  const std::vector<at::Tensor>& storages = pickler.tensorData();
  for (size_t i = 0; i < storages.size(); ++i) {
    zip.writeRecord("data/" + std::to_string(i), storages[i].const_data_ptr(),
                    storages[i].nbytes());
  }
  zip.writeEndOfFile();
}

void write_pickled(const std::filesystem::path& path, const c10::IValue& value) {
  write_durably(path, [&](File& file) {
    // An exception must not cross the zip library, which is C, and an archive that cannot be ended
    // throws from its destructor. So after a failure nothing is written, and the archive is ended
    // all the same.
    std::exception_ptr error;
    caffe2::serialize::PyTorchStreamWriter zip([&](const void* data, size_t size) -> size_t {
      try {
        if (!error) file.write({static_cast<const std::byte*>(data), size});
      } catch (...) {
        error = std::current_exception();
      }
      return size;
    });
    write_archive(zip, value);
    if (error) std::rethrow_exception(error);
  });
}

}  // namespace

void write_pth(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors) {
  write_pickled(path, dict_of(tensors, ""));
}

void write_snapshot(const std::filesystem::path& path, int64_t epoch,
                    const std::vector<NamedTensor>& tensors) {
  c10::impl::GenericDict snapshot(c10::StringType::get(), c10::AnyType::get());
  snapshot.insert("epoch", epoch);
  snapshot.insert("network", dict_of(tensors, "module."));
  write_pickled(path, snapshot);
}

}  // namespace ffkit
