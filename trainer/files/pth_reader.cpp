#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

#include <ffkit/format/error.h>

#include "files/pth.h"
#include "files/zip_reader.h"
#include "format/bytes/pickle.h"
#include "format/file/file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using Ref = Pickle::Ref;

struct StorageType {
  const char* name;
  at::ScalarType type;
};
constexpr std::array kStorageTypes = {StorageType{"torch.FloatStorage", at::kFloat},
                                      StorageType{"torch.DoubleStorage", at::kDouble},
                                      StorageType{"torch.HalfStorage", at::kHalf},
                                      StorageType{"torch.BFloat16Storage", at::kBFloat16},
                                      StorageType{"torch.LongStorage", at::kLong},
                                      StorageType{"torch.IntStorage", at::kInt},
                                      StorageType{"torch.ShortStorage", at::kShort},
                                      StorageType{"torch.CharStorage", at::kChar},
                                      StorageType{"torch.ByteStorage", at::kByte},
                                      StorageType{"torch.BoolStorage", at::kBool}};

[[noreturn]] void fail_unsupported(const std::string& message) {
  throw Error(ErrorCode::unsupported, message);
}
[[noreturn]] void throw_corrupt_pth(const std::string& message) {
  throw Error(ErrorCode::corrupt, message + "; the file is damaged");
}

// A tensor as the pickle describes it.
struct Description {
  std::string name;
  std::string storage;
  at::ScalarType type = at::kFloat;
  int64_t storage_numel = 0;
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

// Throws unless every element lies within the storage.
void check(const Description& d) {
  int64_t last = d.offset;
  int64_t numel = 1;
  bool is_right = d.sizes.size() == d.strides.size() && d.sizes.size() <= 64 && d.offset >= 0 &&
                  d.storage_numel >= 0;
  for (size_t i = 0; is_right && i < d.sizes.size(); ++i) {
    int64_t span = 0;
    is_right = d.sizes[i] >= 0 && d.strides[i] >= 0 &&
               !__builtin_mul_overflow(std::max(d.sizes[i] - 1, int64_t{0}), d.strides[i], &span) &&
               !__builtin_add_overflow(last, span, &last) &&
               !__builtin_mul_overflow(numel, d.sizes[i], &numel);
  }
  if (!is_right || (numel > 0 && last >= d.storage_numel)) {
    throw_corrupt_pth(fmt::format("tensor '{}' lies outside of its numbers", d.name));
  }
}

std::vector<int64_t> integers(const Pickle& pickle, Ref tuple) {
  std::vector<int64_t> out;
  for (const Ref item : pickle.items(tuple, "a shape")) {
    out.push_back(pickle.integer(item, "an extent"));
  }
  return out;
}

// The tensor that the value is, or what it is instead.
Description describe_pickled(const Pickle& pickle, const std::string& name, Ref value) {
  if (pickle.kind(value) != Pickle::Kind::call) {
    fail_unsupported(
        fmt::format("'{}' is not a tensor; give a file that holds a state_dict alone", name));
  }
  const std::string function = pickle.global_name(pickle.items(value, "a call")[0]);
  const std::vector<Ref>& arguments =
      pickle.items(pickle.items(value, "a call")[1], "its arguments");
  // A Parameter wraps its tensor; one that wraps another is no file of PyTorch.
  if (function == "torch._utils._rebuild_parameter" && !arguments.empty() &&
      pickle.kind(arguments[0]) == Pickle::Kind::call &&
      pickle.global_name(pickle.items(arguments[0], "a call")[0]) != function) {
    return describe_pickled(pickle, name, arguments[0]);
  }
  if (function != "torch._utils._rebuild_tensor_v2") {
    fail_unsupported(
        fmt::format("'{}' would call {:.80}, and nothing but tensors is ever made here", name,
                    function.empty() ? "something without a name" : function));
  }
  if (arguments.size() < 4) throw_corrupt_pth(fmt::format("tensor '{}' is incomplete", name));
  Description d{.name = name};
  d.offset = pickle.integer(arguments[1], "an offset");
  d.sizes = integers(pickle, arguments[2]);
  d.strides = integers(pickle, arguments[3]);
  if (pickle.kind(arguments[0]) != Pickle::Kind::persistent) {
    throw_corrupt_pth(fmt::format("tensor '{}' has no storage", name));
  }
  const std::vector<Ref>& identity =
      pickle.items(pickle.items(arguments[0], "a storage")[0], "a storage");
  if (identity.size() < 5 || pickle.text(identity[0], "a storage") != "storage") {
    throw_corrupt_pth(fmt::format("tensor '{}' has no storage", name));
  }
  const std::string type = pickle.global_name(identity[1]);
  const auto* known = std::find_if(kStorageTypes.begin(), kStorageTypes.end(),
                                   [&](const StorageType& t) { return t.name == type; });
  if (known == kStorageTypes.end()) {
    fail_unsupported(fmt::format("tensor '{}' is a {:.60}, which is not known here", name, type));
  }
  d.type = known->type;
  d.storage = pickle.text(identity[2], "a storage's key");
  d.storage_numel = pickle.integer(identity[4], "a storage's length");
  check(d);
  return d;
}

// The dict of tensors in what was pickled.
Ref find_state_dict(const Pickle& pickle) {
  const Ref root = pickle.root();
  if (pickle.kind(root) != Pickle::Kind::dict) {
    fail_unsupported("holds no dict of tensors; save model.state_dict(), not the model, in Python");
  }
  const auto entries = pickle.entries(root, "the state dict");
  for (const char* wrapper : {"state_dict", "model", "model_state_dict", "network"}) {
    for (const auto& [key, value] : entries) {
      if (pickle.kind(key) == Pickle::Kind::text && pickle.text(key, "a key") == wrapper &&
          pickle.kind(value) == Pickle::Kind::dict) {
        return value;
      }
    }
  }
  return root;
}

std::vector<Description> describe_all(const Pickle& pickle) {
  std::vector<Description> out;
  for (const auto& [key, value] : pickle.entries(find_state_dict(pickle), "the state dict")) {
    if (pickle.kind(key) != Pickle::Kind::text) {
      fail_unsupported("holds a dict whose keys are not names of tensors");
    }
    out.push_back(describe_pickled(pickle, std::string(pickle.text(key, "a name")), value));
  }
  return out;
}

void refuse_old_form(const fs::path& path) {
  const File file = File::open_for_reading(path);
  std::array<std::byte, 2> head{};
  if (file.size() < 2) return;
  file.read_at(0, head);
  if (head[0] == std::byte{0x80}) {
    throw Error(ErrorCode::unsupported,
                "is of the form that torch wrote before 1.6; convert it in Python: "
                "torch.save(torch.load(OLD, weights_only=True), NEW)",
                {.path = path.string()});
  }
}

// data.pkl, and the folder that it lies in.
struct PickleFile {
  std::string folder;
  std::vector<std::byte> bytes;
};

PickleFile read_pickle_file(const fs::path& path) {
  constexpr std::string_view kName = "data.pkl";
  constexpr std::string_view kOrder = "byteorder";
  std::optional<PickleFile> found;
  std::array<std::byte, 3> byte_order{};
  read_zip(path, [&](const std::string& name, int64_t num_bytes) -> std::span<std::byte> {
    const size_t slash = name.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : name.substr(0, slash + 1);
    const std::string last = name.substr(folder.size());
    if (last == kOrder && num_bytes == int64_t(byte_order.size())) return byte_order;
    if (last != kName || found) return {};
    found = PickleFile{folder, std::vector<std::byte>(static_cast<size_t>(num_bytes))};
    return found->bytes;
  });
  if (std::memcmp(byte_order.data(), "big", byte_order.size()) == 0) {
    fail_unsupported("holds big-endian numbers, which are not read here");
  }
  if (!found) fail_unsupported("is a zip, but not one that torch.save wrote: it has no data.pkl");
  return std::move(*found);
}

// The storages that are asked for, by key, each as a tensor of one dimension.
std::map<std::string, at::Tensor> read_storages(const fs::path& path, const std::string& folder,
                                                const std::vector<Description>& wanted) {
  std::map<std::string, const Description*> by_entry;
  for (const Description& d : wanted) {
    const auto [it, is_new] = by_entry.emplace(folder + "data/" + d.storage, &d);
    if (!is_new && (it->second->type != d.type || it->second->storage_numel != d.storage_numel)) {
      throw_corrupt_pth(
          fmt::format("tensors '{}' and '{}' contradict each other about their storage",
                      it->second->name, d.name));
    }
  }
  std::map<std::string, at::Tensor> storages;
  read_zip(path, [&](const std::string& name, int64_t num_bytes) -> std::span<std::byte> {
    const auto it = by_entry.find(name);
    if (it == by_entry.end()) return {};
    const Description& d = *it->second;
    const auto element_bytes = int64_t(c10::elementSize(d.type));
    if (num_bytes % element_bytes != 0 || num_bytes / element_bytes != d.storage_numel) {
      throw_corrupt_pth(
          fmt::format("tensor '{}' needs {} numbers, but its part of the file has {} bytes", d.name,
                      d.storage_numel, num_bytes));
    }
    at::Tensor& storage = storages[d.storage];
    storage = at::empty({d.storage_numel}, at::TensorOptions(d.type));
    return {static_cast<std::byte*>(storage.mutable_data_ptr()), size_t(num_bytes)};
  });
  return storages;
}

}  // namespace

bool looks_like_pth(const fs::path& path) {
  const File file = File::open_for_reading(path);
  std::array<char, 4> head{};
  if (file.size() < int64_t(head.size())) return false;
  file.read_at(0, std::as_writable_bytes(std::span(head)));
  return std::memcmp(head.data(), "PK\x03\x04", 4) == 0 ||
         (head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 && head[2] != '\0');
}

std::vector<NamedTensor> read_pth(const fs::path& path) {
  refuse_old_form(path);
  try {
    const PickleFile file = read_pickle_file(path);
    Pickle pickle;
    pickle.parse(file.bytes, Pickle::Objects::as_values);
    const std::vector<Description> descriptions = describe_all(pickle);
    const std::map<std::string, at::Tensor> storages =
        read_storages(path, file.folder, descriptions);
    std::vector<NamedTensor> tensors;
    for (const Description& d : descriptions) {
      const auto storage = storages.find(d.storage);
      if (storage == storages.end()) {
        throw_corrupt_pth(fmt::format("the numbers of tensor '{}' are missing", d.name));
      }
      tensors.push_back({d.name, storage->second.as_strided(d.sizes, d.strides, d.offset)});
    }
    return tensors;
  } catch (const Error& e) {
    if (!e.context().path.empty()) throw;
    throw Error(e.code(), e.what(), {.path = path.string()});
  }
}

}  // namespace ffkit
