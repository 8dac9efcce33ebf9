#include "files/state_dict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

#include "base/printable.h"

namespace ffkit {
namespace {

using Ref = Pickle::Ref;
using Kind = Pickle::Kind;

constexpr std::array kTorchTypes = {
    TorchType{"float32", "FloatStorage", 4, 4},
    TorchType{"float64", "DoubleStorage", 8, 8},
    TorchType{"float16", "HalfStorage", 2, 2},
    TorchType{"bfloat16", "BFloat16Storage", 2, 2},
    TorchType{"int64", "LongStorage", 8, 8},
    TorchType{"int32", "IntStorage", 4, 4},
    TorchType{"int16", "ShortStorage", 2, 2},
    TorchType{"int8", "CharStorage", 1, 1},
    TorchType{"uint8", "ByteStorage", 1, 1},
    TorchType{"bool", "BoolStorage", 1, 1},
    TorchType{"complex64", "ComplexFloatStorage", 8, 4},
    TorchType{"complex128", "ComplexDoubleStorage", 16, 8},
    TorchType{"uint16", "", 2, 2},
    TorchType{"uint32", "", 4, 4},
    TorchType{"uint64", "", 8, 8},
    TorchType{"float8_e4m3fn", "", 1, 1},
    TorchType{"float8_e5m2", "", 1, 1},
    TorchType{"float8_e4m3fnuz", "", 1, 1},
    TorchType{"float8_e5m2fnuz", "", 1, 1},
    TorchType{"float8_e8m0fnu", "", 1, 1},
    // Only to know how long they are.
    TorchType{"qint8", "QInt8Storage", 1, 1},
    TorchType{"quint8", "QUInt8Storage", 1, 1},
    TorchType{"qint32", "QInt32Storage", 4, 4},
    TorchType{"untyped", "UntypedStorage", 1, 1},
    TorchType{"untyped", "_UntypedStorage", 1, 1},
};

// What scripts call the model's, the first that is there.
constexpr std::array kModelNames = {
    "state_dict", "model_state_dict", "model_state", "model",  "network",
    "net",        "module",           "weights",     "params", "student"};
constexpr int kMostLevels = 4;         // of dicts in dicts
constexpr int kMostModuleLevels = 64;  // of modules in modules
constexpr size_t kMostTensors = 1'000'000, kMostModules = 100'000;

std::string_view last_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

const TorchType* find_type(std::string_view name) {
  const auto* found = std::ranges::find(kTorchTypes, name, &TorchType::name);
  return found == kTorchTypes.end() ? nullptr : found;
}

std::optional<std::string_view> key_text(const Pickle& pickle, Ref key) {
  if (pickle.kind(key) != Kind::text) return std::nullopt;
  return pickle.text(key, "a key");
}

// The value of `key`; nothing where it is no dict or has none.
std::optional<Ref> member(const Pickle& pickle, Ref dict, std::string_view key) {
  if (pickle.kind(dict) != Kind::dict) return std::nullopt;
  std::optional<Ref> found;
  for (const auto& [name, value] : pickle.entries(dict, "a dict")) {
    if (key_text(pickle, name) == key) found = value;  // the last one counts, as in Python
  }
  return found;
}

bool is_call(const Pickle& pickle, Ref ref) {
  return pickle.kind(ref) == Kind::call;
}
std::string called_function(const Pickle& pickle, Ref call) {
  return pickle.global_name(pickle.items(call, "a call")[0]);
}
const std::vector<Ref>& arguments_of(const Pickle& pickle, Ref call) {
  return pickle.items(pickle.items(call, "a call")[1], "its arguments");
}

// The attributes of a pickled torch.nn.Module.
std::optional<Ref> module_state(const Pickle& pickle, Ref ref) {
  if (!is_call(pickle, ref) || pickle.items(ref, "a call").size() < 3) return std::nullopt;
  const Ref state = pickle.items(ref, "a call")[2];
  if (!member(pickle, state, "_parameters") || !member(pickle, state, "_modules"))
    return std::nullopt;
  return state;
}

// Functions of torch whose result is a tensor.
bool makes_tensor(std::string_view function) {
  return (function.starts_with("torch._utils._rebuild_") ||
          function.starts_with("torch._tensor._rebuild_")) &&
         !function.ends_with("_rebuild_device_tensor_from_numpy");
}

class Describer {
 public:
  Describer(const Pickle& pickle, const OutsideTensors& outside)
      : pickle_(pickle), outside_(outside) {}

  bool is_tensor(Ref ref) const {
    if (is_call(pickle_, ref)) return makes_tensor(called_function(pickle_, ref));
    return pickle_.kind(ref) == Kind::persistent && find_outside(ref) != nullptr;
  }

  void add(std::string name, Ref value, StateDict& out) const {
    if (out.tensors.size() + out.unread.size() >= kMostTensors)
      refuse_tensors("the file contains too many tensors for a model");
    if (const StoredTensor* outside = find_outside(value)) {
      out.tensors.push_back(*outside);
      out.tensors.back().name = std::move(name);
      return;
    }
    const std::string function = called_function(pickle_, value);
    const std::vector<Ref>& arguments = arguments_of(pickle_, value);
    // A Parameter, or a subclass, wraps its tensor; one that wraps another wrapper is no file of
    // PyTorch.
    const auto wraps = [](const std::string& f) {
      return f == "torch._utils._rebuild_parameter" ||
             f == "torch._utils._rebuild_parameter_with_state";
    };
    if (wraps(function) && !arguments.empty() && is_tensor(arguments[0]) &&
        !(is_call(pickle_, arguments[0]) && wraps(called_function(pickle_, arguments[0])))) {
      return add(std::move(name), arguments[0], out);
    }
    if (function == "torch._tensor._rebuild_from_type_v2" && arguments.size() >= 3 &&
        pickle_.global_name(arguments[0]).starts_with("torch._utils._rebuild_tensor") &&
        pickle_.kind(arguments[2]) == Kind::tuple) {
      return add_rebuilt(std::move(name), pickle_.global_name(arguments[0]),
                         pickle_.items(arguments[2], "its arguments"), out);
    }
    add_rebuilt(std::move(name), function, arguments, out);
  }

 private:
  const StoredTensor* find_outside(Ref ref) const {
    if (outside_.empty() || pickle_.kind(ref) != Kind::persistent) return nullptr;
    const Ref identity = pickle_.items(ref, "a reference")[0];
    if (pickle_.kind(identity) != Kind::text) return nullptr;
    const auto found = outside_.find(std::string(pickle_.text(identity, "a reference")));
    return found == outside_.end() ? nullptr : &found->second;
  }

  std::vector<int64_t> integers(Ref tuple) const {
    std::vector<int64_t> out;
    for (const Ref item : pickle_.items(tuple, "a shape"))
      out.push_back(pickle_.integer(item, "an extent"));
    return out;
  }

  void add_rebuilt(std::string name, const std::string& function, const std::vector<Ref>& arguments,
                   StateDict& out) const {
    const bool has_type = function == "torch._utils._rebuild_tensor_v3";
    if (function != "torch._utils._rebuild_tensor_v2" &&
        function != "torch._utils._rebuild_tensor" && !has_type) {
      out.unread.push_back({std::move(name), fmt::format("is made by {:.80}", function)});
      return;
    }
    if (arguments.size() < (has_type ? 7 : 4))
      throw_corrupt_tensors(fmt::format("tensor '{}' is incomplete", printable(name)));
    StoredTensor tensor{.name = std::move(name)};
    tensor.offset = pickle_.integer(arguments[1], "an offset");
    tensor.sizes = integers(arguments[2]);
    tensor.strides = integers(arguments[3]);
    std::string type = find_storage(arguments[0], tensor);
    if (has_type) type = pickle_.global_name(arguments[6]);
    const std::string_view last = last_part(type);
    tensor.type = has_type ? find_type(last) : find_torch_storage(type);
    if (tensor.type == nullptr || tensor.type->name == "untyped" ||
        tensor.type->name.starts_with('q')) {
      out.unread.push_back({tensor.name, fmt::format("is a {:.60}", type)});
      return;
    }
    out.tensors.push_back(std::move(tensor));
  }

  // Sets what a storage's identity says; returns its type.
  std::string find_storage(Ref ref, StoredTensor& tensor) const {
    const auto refuse = [&] {
      throw_corrupt_tensors(fmt::format("tensor '{}' has no storage", printable(tensor.name)));
    };
    if (pickle_.kind(ref) != Kind::persistent) refuse();
    const std::vector<Ref>& identity =
        pickle_.items(pickle_.items(ref, "a storage")[0], "a storage");
    if (identity.size() < 5 || pickle_.text(identity[0], "a storage") != "storage") refuse();
    tensor.storage = pickle_.text(identity[2], "a storage's key");
    // Torch before 0.4: a part of another storage.
    if (identity.size() > 5 && pickle_.kind(identity[5]) == Kind::tuple) {
      const std::vector<Ref>& view = pickle_.items(identity[5], "a view");
      if (view.size() < 2 ||
          __builtin_add_overflow(tensor.offset, pickle_.integer(view[1], "a view"),
                                 &tensor.offset)) {
        refuse();
      }
    }
    return pickle_.global_name(identity[1]);
  }

  const Pickle& pickle_;
  const OutsideTensors& outside_;
};

// A dict of tensors, or a module, and where it is.
struct Candidate {
  std::string path;  // keys with '.' between; empty: the root
  Ref value = 0;
  bool is_module = false;
};

class Search {
 public:
  Search(const Pickle& pickle, const Describer& describer)
      : pickle_(pickle), describer_(describer) {
    look("", pickle.root(), 0);
  }
  const std::vector<Candidate>& found() const { return found_; }

 private:
  void look(const std::string& path, Ref ref, int level) {
    if (!seen_.insert(ref).second) return;
    if (module_state(pickle_, ref)) {
      found_.push_back({path, ref, true});
      return;
    }
    if (pickle_.kind(ref) != Kind::dict) return;
    const auto entries = pickle_.entries(ref, "a dict");
    const bool has_tensor = std::ranges::any_of(entries, [&](const auto& entry) {
      return pickle_.kind(entry.first) == Kind::text && describer_.is_tensor(entry.second);
    });
    if (has_tensor) found_.push_back({path, ref, false});
    if (level == kMostLevels) return;
    for (const auto& [key, value] : entries) {
      const auto name = key_text(pickle_, key);
      if (!name || (path.empty() && is_training_state(*name))) continue;
      look(path.empty() ? std::string(*name) : fmt::format("{}.{}", path, *name), value, level + 1);
    }
  }
  static bool is_training_state(std::string_view name) {
    return std::ranges::any_of(
        std::array{"optim", "sched", "scaler", "rng", "args", "hyper_param", "callback", "loops"},
        [&](const char* part) { return name.find(part) != std::string_view::npos; });
  }

  const Pickle& pickle_;
  const Describer& describer_;
  std::set<Ref> seen_;
  std::vector<Candidate> found_;
};

std::vector<std::string> paths_of(const std::vector<Candidate>& all, const Candidate* without) {
  std::vector<std::string> paths;
  for (const Candidate& c : all) {
    if (&c != without && !c.path.empty()) paths.push_back(c.path);
  }
  return paths;
}

// What is taken where nothing was asked for; null where there are several and none is known.
const Candidate* preferred(const std::vector<Candidate>& all) {
  for (const char* name : kModelNames) {
    for (const Candidate& c : all) {
      if (c.path == name || c.path.starts_with(std::string(name) + '.')) return &c;
    }
  }
  if (all.size() == 1 || all.front().path.empty()) return all.data();
  return nullptr;
}

[[noreturn]] void refuse_call(const Pickle& pickle, std::string_view name, Ref value) {
  const std::string function = called_function(pickle, value);
  refuse_tensors(
      fmt::format("the value '{}' would call the function {:.80}, but ffkit creates only tensors",
                  printable(name), function.empty() ? "something without a name" : function));
}

[[noreturn]] void refuse_without_tensors(const Pickle& pickle, const Describer& describer) {
  const Ref root = pickle.root();
  if (describer.is_tensor(root)) refuse_tensors("the file contains one tensor, not a model");
  if (member(pickle, root, "param_groups"))
    refuse_tensors("the file contains the state of an optimizer, not weights");
  if (pickle.kind(root) == Kind::dict) {
    for (const auto& [key, value] : pickle.entries(root, "the state dict")) {
      const auto name = key_text(pickle, key);
      if (!name && describer.is_tensor(value))
        refuse_tensors("the file contains a dict with keys that are not names of tensors");
      if (name && is_call(pickle, value)) refuse_call(pickle, *name, value);
    }
    refuse_tensors("the file contains no tensors with names");
  }
  if (is_call(pickle, root)) {
    refuse_tensors(
        fmt::format("the file contains an object of {:.80}, not a dict of tensors; save "
                    "model.state_dict() in Python",
                    called_function(pickle, root)));
  }
  refuse_tensors("the file contains no dict of tensors; save model.state_dict() in Python");
}

// The candidate that is asked for, and what is left of the key.
std::pair<const Candidate*, std::string> choose(const std::vector<Candidate>& all,
                                                const std::string& key) {
  const Candidate* best = nullptr;
  for (const Candidate& c : all) {
    const bool fits = !c.path.empty() && (key == c.path || key.starts_with(c.path + '.'));
    if (fits && (best == nullptr || c.path.size() > best->path.size())) best = &c;
  }
  if (best != nullptr && key == best->path) return {best, ""};
  if (best != nullptr && !key.empty()) return {best, key.substr(best->path.size() + 1)};
  const Candidate* chosen = preferred(all);
  // "a" of "a.b", the only one there.
  if (!key.empty()) {
    for (const Candidate& c : all) {
      if (c.path.starts_with(key + '.')) return {&c, ""};
    }
  }
  if (chosen == nullptr && !key.empty()) {
    refuse_tensors(fmt::format("the file has no set of tensors '{}' for {}; the sets are {}",
                               printable(key), option_name("weights_key"),
                               listed(paths_of(all, nullptr))));
  }
  if (chosen == nullptr) {
    refuse_tensors(fmt::format("the file has several sets of tensors: {}; choose one set with {}",
                               listed(paths_of(all, nullptr)), option_name("weights_key")));
  }
  return {chosen, key};
}

class Module {
 public:
  Module(const Pickle& pickle, const Describer& describer, StateDict& out)
      : pickle_(pickle), describer_(describer), out_(out) {}

  // As Module.state_dict() does.
  void collect(Ref module, const std::string& prefix, int level) {
    if (level > kMostModuleLevels || ++num_modules_ > kMostModules)
      refuse_tensors("the file contains too many nested modules");
    const std::optional<Ref> state = module_state(pickle_, module);
    if (!state) return;
    std::set<std::string, std::less<>> passing;
    if (const auto set = member(pickle_, *state, "_non_persistent_buffers_set"))
      passing = texts(*set);
    for (const char* kind : {"_parameters", "_buffers"}) {
      const auto members = member(pickle_, *state, kind);
      if (!members || pickle_.kind(*members) != Kind::dict) continue;
      for (const auto& [key, value] : pickle_.entries(*members, kind)) {
        const auto name = key_text(pickle_, key);
        if (!name || passing.contains(*name) || !describer_.is_tensor(value)) continue;
        describer_.add(prefix + std::string(*name), value, out_);
      }
    }
    const Ref modules = *member(pickle_, *state, "_modules");
    if (pickle_.kind(modules) != Kind::dict) return;
    for (const auto& [key, value] : pickle_.entries(modules, "_modules")) {
      if (const auto name = key_text(pickle_, key))
        collect(value, fmt::format("{}{}.", prefix, *name), level + 1);
    }
  }

 private:
  // Of a set: in protocol 2 a call with a list.
  std::set<std::string, std::less<>> texts(Ref set) const {
    Ref list = set;
    if (is_call(pickle_, set)) {
      const std::vector<Ref>& arguments = arguments_of(pickle_, set);
      if (arguments.empty()) return {};
      list = arguments[0];
    }
    std::set<std::string, std::less<>> out;
    if (pickle_.kind(list) != Kind::list) return out;
    for (const Ref item : pickle_.items(list, "a set")) {
      if (const auto text = key_text(pickle_, item)) out.emplace(*text);
    }
    return out;
  }

  const Pickle& pickle_;
  const Describer& describer_;
  StateDict& out_;
  size_t num_modules_ = 0;
};

void collect_dict(const Pickle& pickle, const Describer& describer, Ref dict, StateDict& out) {
  std::vector<std::string> left_out;
  for (const auto& [key, value] : pickle.entries(dict, "the state dict")) {
    const auto name = key_text(pickle, key);
    if (!name) refuse_tensors("the file contains a dict with keys that are not names of tensors");
    if (describer.is_tensor(value)) {
      describer.add(std::string(*name), value, out);
    } else if (last_part(*name) == "_extra_state") {
      continue;  // what a module keeps beside its tensors
    } else if (is_call(pickle, value) && !module_state(pickle, value)) {
      const std::string function = called_function(pickle, value);
      if (!function.starts_with("torch.") && !function.starts_with("numpy."))
        refuse_call(pickle, *name, value);
      out.unread.push_back({std::string(*name), fmt::format("is made by {:.80}", function)});
    } else {
      left_out.emplace_back(*name);
    }
  }
  if (!left_out.empty())
    out.notes.push_back(
        fmt::format("left out, because they are not tensors: {}", listed(left_out)));
}

}  // namespace

std::string listed(const std::vector<std::string>& names, size_t most) {
  std::vector<std::string> first;
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    first.push_back(fmt::format("'{}'", printable(names[i])));
  const std::string rest =
      names.size() > most ? fmt::format(" and {} more", names.size() - most) : "";
  return fmt::format("{}{}", fmt::join(first, ", "), rest);
}

void refuse_tensors(const std::string& message) {
  throw Error(ErrorCode::unsupported, message);
}

void throw_corrupt_tensors(const std::string& message) {
  throw Error(ErrorCode::corrupt, message + "; the file is damaged");
}

const TorchType* find_torch_storage(std::string_view type) {
  const std::string_view storage = last_part(type);
  const auto* found = std::ranges::find(kTorchTypes, storage, &TorchType::storage);
  return storage.empty() || found == kTorchTypes.end() ? nullptr : found;
}

StateDict find_state_dict(const Pickle& pickle, const std::string& key,
                          const OutsideTensors& outside) {
  const Describer describer(pickle, outside);
  const Search search(pickle, describer);
  const std::vector<Candidate>& all = search.found();
  if (all.empty()) refuse_without_tensors(pickle, describer);
  const auto [chosen, prefix] = choose(all, key);
  StateDict out{.prefix = prefix};
  const std::vector<std::string> others = paths_of(all, chosen);
  if (key.empty() && !others.empty() && !chosen->path.empty()) {
    out.notes.push_back(
        fmt::format("the tensors of '{}' are used; the file also has {} (--weights-key)",
                    printable(chosen->path), listed(others)));
  } else if (!chosen->path.empty() && chosen->path != key && preferred(all) == chosen &&
             std::ranges::find(kModelNames, chosen->path) == kModelNames.end()) {
    out.notes.push_back(fmt::format("the tensors of '{}' are used", printable(chosen->path)));
  }
  if (chosen->is_module) {
    Module(pickle, describer, out).collect(chosen->value, "", 0);
  } else {
    collect_dict(pickle, describer, chosen->value, out);
  }
  return out;
}

std::vector<NamedStorage> all_storages(const Pickle& pickle) {
  std::vector<NamedStorage> storages;
  for (Ref ref = 0; ref < pickle.end(); ++ref) {
    if (pickle.kind(ref) != Kind::persistent) continue;
    const Ref identity = pickle.items(ref, "a reference")[0];
    if (pickle.kind(identity) != Kind::tuple) continue;
    const std::vector<Ref>& parts = pickle.items(identity, "a reference");
    if (parts.size() < 5 || key_text(pickle, parts[0]) != "storage" || !key_text(pickle, parts[2]))
      continue;
    storages.push_back({std::string(*key_text(pickle, parts[2])), pickle.global_name(parts[1])});
  }
  return storages;
}

}  // namespace ffkit
