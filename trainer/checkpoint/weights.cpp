#include "checkpoint/weights.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

#include "base/file/file.h"
#include "base/file/user_text.h"
#include "base/json_text.h"
#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_parts.h"
#include "files/foreign_weights.h"
#include "files/pth.h"
#include "files/safetensors.h"
#include "files/torch_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_weights(const Weights& weights, const std::string& message) {
  throw checkpoint_error(weights.path, ErrorCode::invalid_argument, message);
}

// Of both kinds of tensors in turn.
template <typename Change>
void change_names(Weights& weights, Change change) {
  for (NamedTensor& t : weights.tensors) change(t.name);
  for (UnreadTensor& t : weights.unread) change(t.name);
}

// Names of modules that only wrap others, wherever they are, and "module." of
// DistributedDataParallel before all names.
void remove_wrappers(Weights& weights) {
  for (const std::string_view wrapper :
       {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."}) {
    change_names(weights, [&](std::string& name) {
      for (size_t at = 0; (at = name.find(wrapper, at)) != std::string::npos;) {
        if (at == 0 || name[at - 1] == '.') {
          name.erase(at, wrapper.size());
        } else {
          ++at;
        }
      }
    });
  }
  constexpr std::string_view kModule = "module.";
  while (std::ranges::all_of(weights.tensors, [&](const NamedTensor& t) {
    return t.name.starts_with(kModule) && t.name.size() > kModule.size();
  })) {
    change_names(weights, [&](std::string& name) {
      if (name.starts_with(kModule)) name.erase(0, kModule.size());
    });
  }
}

constexpr size_t kMostNamed = 4;  // of tensors in a message
std::string count_of(size_t count) {
  return count == 1 ? "1 tensor" : fmt::format("{} tensors", count);
}

// Leaves the tensors whose names begin with `prefix`, without it.
void take_prefix(Weights& weights, std::string prefix) {
  if (!prefix.ends_with('.')) prefix += '.';
  std::set<std::string> begins;
  for (const NamedTensor& t : weights.tensors) begins.insert(t.name.substr(0, t.name.find('.')));
  const auto is_other = [&](const auto& t) {
    return !t.name.starts_with(prefix) || t.name.size() == prefix.size();
  };
  std::erase_if(weights.tensors, is_other);
  std::erase_if(weights.unread, is_other);
  if (weights.tensors.empty()) {
    refuse_weights(weights, fmt::format("no tensor has a name with the prefix '{}' that {} gives; "
                                        "the prefixes in this file are {}",
                                        printable(prefix.substr(0, prefix.size() - 1)),
                                        option_name("weights_key"),
                                        listed({begins.begin(), begins.end()}, kMostNamed)));
  }
  change_names(weights, [&](std::string& name) { name.erase(0, prefix.size()); });
}

// A file of torch.save(), or else a safetensors file or the manifest of a checkpoint in parts.
using OpenWeights = std::variant<File, SafeTensorsReader>;

OpenWeights open_weights(const fs::path& path) {
  if (fs::is_directory(path)) return SafeTensorsReader(metadata_file(path));
  File file = of_checkpoint(path, [&] { return File::open_for_reading(path); });
  if (torch_form(file) != TorchForm::none) return OpenWeights(std::move(file));
  return SafeTensorsReader(std::move(file));
}

bool is_checkpoint(const OpenWeights& file) {
  const auto* tensors = std::get_if<SafeTensorsReader>(&file);
  return tensors != nullptr && is_checkpoint_metadata(tensors->metadata());
}

// What `key` does not say of the file is left in it.
void append_file(const OpenWeights& file, std::string& key, Weights& weights) {
  if (const File* torch = std::get_if<File>(&file)) {
    Pth pth = read_pth(*torch, key);
    key = std::move(pth.prefix);
    std::ranges::move(pth.tensors, std::back_inserter(weights.tensors));
    std::ranges::move(pth.unread, std::back_inserter(weights.unread));
    std::ranges::move(pth.notes, std::back_inserter(weights.notes));
    return;
  }
  SafeTensors contents = std::get<SafeTensorsReader>(file).read_all();
  std::ranges::move(contents.tensors, std::back_inserter(weights.tensors));
  std::ranges::move(contents.unread, std::back_inserter(weights.unread));
}

void append_shards(Weights& weights) {
  const WeightsIndex index = read_weights_index(weights.path);
  std::string no_key;
  for (const fs::path& file : index.files) append_file(open_weights(file), no_key, weights);
  std::set<std::string> found;
  for (const NamedTensor& t : weights.tensors) found.insert(t.name);
  for (const UnreadTensor& t : weights.unread) found.insert(t.name);
  for (const auto& [name, file] : index.file_of) {
    if (!found.contains(name)) {
      refuse_weights(weights, fmt::format("the index says that {0} has the tensor '{1}', but this "
                                          "file does not have the tensor",
                                          file.filename().string(), printable(name)));
    }
  }
}

bool is_of_head(const WeightRules& rules, const std::string& name) {
  return !rules.head.empty() && (name == rules.head + ".weight" || name == rules.head + ".bias");
}

// Whether `stored` is a head's weight or bias with another number of rows.
bool is_other_head(const WeightRules& rules, const NamedTensor& target, const at::Tensor& stored) {
  if (!is_of_head(rules, target.name)) return false;
  return stored.dim() > 0 && stored.dim() == target.tensor.dim() && stored.size(0) > 0 &&
         stored.size(0) != target.tensor.size(0) &&
         stored.sizes().slice(1) == target.tensor.sizes().slice(1);
}

bool can_be_converted(at::ScalarType from, at::ScalarType to) {
  return from == to || (at::isFloatingType(from) && at::isFloatingType(to)) ||
         (at::isIntegralType(from, false) && at::isIntegralType(to, false));
}

}  // namespace

std::vector<std::string> notes_of(const fs::path& file, const std::vector<std::string>& notes) {
  std::vector<std::string> out;
  for (const std::string& note : notes) out.push_back(fmt::format("{}: {}", file.string(), note));
  return out;
}

std::string unread_note(const Weights& weights) {
  if (weights.unread.empty()) return {};
  return fmt::format("{} left out, because ffkit does not support the type: '{}' {}",
                     count_of(weights.unread.size()), printable(weights.unread[0].name),
                     weights.unread[0].what);
}

bool holds_weights_alone(const fs::path& path) {
  if (fs::is_directory(path)) return false;
  if (is_weights_index(path)) return true;
  const OpenWeights file = open_weights(path);
  if (is_checkpoint(file)) return false;
  // A damaged description is no other program's: what it says of the tensors is wrong then, too.
  if (const auto* tensors = std::get_if<SafeTensorsReader>(&file)) tensors->description("");
  return true;
}

namespace {

Weights read_weights_of(const fs::path& path, const std::string& key) {
  Weights weights{.path = path, .tensors = {}};
  std::string prefix = key;
  const bool is_in_one = fs::is_directory(path) || !is_weights_index(path);
  const std::optional<OpenWeights> file =
      is_in_one ? std::optional(open_weights(path)) : std::nullopt;
  if (!file) {
    append_shards(weights);
  } else if (fs::is_directory(path) || is_checkpoint(*file)) {
    if (!key.empty()) {
      refuse_weights(
          weights, fmt::format("is a checkpoint of fftrain, which contains one model; leave {} out",
                               option_name("weights_key")));
    }
    weights.tensors = model_tensors(path, std::get<SafeTensorsReader>(*file));
  } else if (const std::optional<fs::path> index = index_of_shard(path)) {
    refuse_weights(
        weights,
        fmt::format("the file has only a part of the weights; give the index {}", index->string()));
  } else {
    append_file(*file, prefix, weights);
  }
  if (weights.tensors.empty() && !weights.unread.empty()) {
    refuse_weights(weights, fmt::format("tensor '{}' {}, which ffkit does not support",
                                        printable(weights.unread[0].name), weights.unread[0].what));
  }
  if (weights.tensors.empty()) refuse_weights(weights, "contains no tensors");
  if (!prefix.empty()) take_prefix(weights, prefix);
  remove_wrappers(weights);
  return weights;
}

}  // namespace

Weights read_weights(const fs::path& path, const std::string& key) {
  return of_checkpoint(path, [&] { return read_weights_of(path, key); });
}

namespace {

// 19 of "snapshot_19.pth.tar", as RootNet's code names its checkpoints; nothing of other names.
std::optional<int64_t> snapshot_epoch(const fs::path& path) {
  const std::string file = path.filename().string();
  std::string_view name = file;
  constexpr std::string_view kBegin = "snapshot_", kEnd = ".pth.tar";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return {};
  name.remove_prefix(kBegin.size());
  name.remove_suffix(kEnd.size());
  const std::optional<int64_t> epoch = number_of_text<int64_t>(name);
  return epoch && *epoch >= 0 ? epoch : std::nullopt;
}

bool is_pth_name(const fs::path& path) {
  return path.extension() == ".pth" || path.extension() == ".pt" ||
         path.filename() == "pytorch_model.bin";
}

}  // namespace

fs::path description_beside(const fs::path& weights) {
  return weights.extension() == ".safetensors" ? "" : weights.string() + ".json";
}

std::map<std::string, std::string> read_description(const fs::path& weights) {
  const fs::path file = description_beside(weights);
  std::map<std::string, std::string> out;
  if (file.empty()) out = read_safetensors_metadata(weights);
  std::erase_if(out, [](const auto& item) { return !nlohmann::json::accept(item.second); });
  if (!fs::is_regular_file(file)) return out;
  const auto json =
      nlohmann::ordered_json::parse(read_user_text(file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return out;
  for (const auto& [name, value] : json.items()) out[name] = json_text(value);
  return out;
}

void require_weights_name(const fs::path& path) {
  if (path.extension() == ".onnx") {
    throw error_at(path, ErrorCode::unsupported,
                   "fftrain does not write ONNX, but PyTorch does; give {} and a name that ends "
                   "with .pth, then run the script that fftrain writes beside this file",
                   option_name("script"))
        .with_subject(ErrorSubject::destination);
  }
  if (!is_pth_name(path) && !snapshot_epoch(path) && path.extension() != ".safetensors") {
    throw error_at(
        path, ErrorCode::invalid_argument,
        "the name of a file of weights must end in .safetensors or .pth; give such a name")
        .with_subject(ErrorSubject::destination);
  }
  for (const fs::path& file : {path, description_beside(path)}) {
    if (file.empty() || !fs::exists(fs::symlink_status(file))) continue;
    throw error_at(file, ErrorCode::invalid_argument,
                   "this file exists already; delete the file, or give another name")
        .with_subject(ErrorSubject::destination);
  }
  require_place_for_file(path);
}

void write_weights(const Weights& weights, const fs::path& path) {
  require_weights_name(path);
  if (const std::optional<int64_t> snapshot = snapshot_epoch(path)) {
    write_snapshot(path, *snapshot, weights.tensors);
  } else if (is_pth_name(path)) {
    write_pth(path, weights.tensors);
  } else {
    // "format" tells libraries in Python that the tensors are PyTorch's.
    std::map<std::string, std::string> metadata = weights.description;
    metadata["format"] = "pt";
    write_safetensors(path, {.tensors = weights.tensors, .metadata = std::move(metadata)});
  }
}

int64_t head_rows(const Weights& weights, const WeightRules& rules) {
  const std::string name = rules.head + ".weight";
  const auto is_head = [&](const NamedTensor& t) {
    return t.tensor.dim() >= 2 && t.tensor.size(0) > 0 &&
           (t.name == name || t.name.ends_with('.' + name));
  };
  // The shortest: copies of a model are named after it.
  const NamedTensor* head = nullptr;
  for (const NamedTensor& t : weights.tensors) {
    if (is_head(t) && (head == nullptr || t.name.size() < head->name.size())) head = &t;
  }
  if (head != nullptr) return head->tensor.size(0);
  refuse_weights(
      weights,
      fmt::format("the file has no tensor '{}.weight' with a row for each class, which a {} "
                  "needs; give other weights or another {}",
                  rules.head, rules.name, rules.choice));
}

namespace {

struct Prefix {
  std::string text;
  std::vector<std::string> others;  // that would do as well
};

// What is before the names of the model in those of the file, such as "model.".
Prefix prefix_before(const std::vector<NamedTensor>& stored, const WeightRules& rules,
                     const std::vector<NamedTensor>& targets) {
  std::set<std::string, std::less<>> names;
  for (const NamedTensor& t : stored) names.insert(t.name);
  std::set<std::string> wanted;
  for (const NamedTensor& t : targets) {
    if (!t.name.ends_with(".num_batches_tracked") &&
        (rules.head.empty() || !t.name.starts_with(rules.head + '.'))) {
      wanted.insert(t.name);
    }
  }
  if (wanted.empty()) return {};
  const std::string anchor = '.' + targets.front().name;
  std::map<std::string, size_t> counts = {{"", 0}};
  for (const std::string& name : names) {
    if (name.ends_with(anchor)) counts[name.substr(0, name.size() - anchor.size() + 1)] = 0;
  }
  if (counts.size() == 1) return {};
  for (auto& [prefix, count] : counts) {
    for (auto it = names.lower_bound(prefix); it != names.end() && it->starts_with(prefix); ++it) {
      const std::string name = it->substr(prefix.size());
      if (wanted.contains(rules.current_name ? rules.current_name(name) : name)) ++count;
    }
  }
  constexpr std::array<std::string_view, 4> kUsual = {"", "model.", "network.", "net."};
  const auto rank = [&](const std::string& prefix) {
    const auto* usual = std::ranges::find(kUsual, prefix);
    return std::pair(usual - kUsual.begin(), prefix.size());
  };
  const auto* best = &*counts.begin();
  for (const auto& entry : counts) {
    const bool is_better = entry.second > best->second ||
                           (entry.second == best->second && rank(entry.first) < rank(best->first));
    if (is_better) best = &entry;
  }
  Prefix found{.text = best->first};
  for (const auto& [prefix, count] : counts) {
    if (count == best->second && prefix != best->first) found.others.push_back(prefix);
  }
  return found;
}

// The tensors of the model by their names of today, and the names of those that are left out.
struct Matched {
  std::unordered_map<std::string, at::Tensor> tensors;
  std::vector<std::string> left_out;
};

Matched match_names(const Weights& weights, const WeightRules& rules,
                    const std::vector<NamedTensor>& tensors, const std::string& prefix) {
  Matched matched;
  for (const NamedTensor& t : tensors) {
    if (!t.name.starts_with(prefix)) {
      matched.left_out.push_back(t.name);
      continue;
    }
    std::string name = t.name.substr(prefix.size());
    if (rules.current_name) name = rules.current_name(name);
    if (!matched.tensors.emplace(name, t.tensor).second)
      refuse_weights(weights, fmt::format("contains the tensor '{}' twice", printable(name)));
  }
  return matched;
}

int64_t rows_of_head(const WeightRules& rules, const std::vector<NamedTensor>& targets) {
  const auto head = std::ranges::find(targets, rules.head + ".weight", &NamedTensor::name);
  return head == targets.end() ? 0 : head->tensor.size(0);
}

}  // namespace

WeightRules backbone_rules(const std::string& name) {
  return {.name = "backbone of " + name,
          .choice = option_name("arch"),
          .prepare = [](const std::string& /*file*/, std::vector<NamedTensor>& tensors) {
            std::erase_if(tensors, [](const NamedTensor& t) {
              const std::string dotted = '.' + t.name;
              return dotted.ends_with(".fc.weight") || dotted.ends_with(".fc.bias");
            });
          }};
}

bool load_weights(const Weights& weights, const WeightRules& rules, Model& model, HeadPolicy policy,
                  std::vector<std::string>* notes) {
  std::vector<std::string> ignored;
  if (notes == nullptr) notes = &ignored;
  std::vector<NamedTensor> tensors = weights.tensors;
  if (rules.prepare) rules.prepare(weights.path.string(), tensors);
  std::vector<NamedTensor> targets = model.parameters();
  for (NamedTensor& buffer : model.buffers()) targets.push_back(std::move(buffer));
  const Prefix prefix = prefix_before(tensors, rules, targets);
  auto [stored, left_out] = match_names(weights, rules, tensors, prefix.text);
  if (!prefix.others.empty()) {
    notes->push_back(fmt::format("the tensors '{}*' are used; the file also has {} (--weights-key)",
                                 printable(prefix.text), listed(prefix.others, kMostNamed)));
  }
  if (!left_out.empty()) {
    notes->push_back(fmt::format("{} left out, because the names do not begin with '{}': {}",
                                 count_of(left_out.size()), printable(prefix.text),
                                 listed(left_out, kMostNamed)));
  }

  bool has_head = true;
  std::optional<int64_t> rows;  // of a head that does not fit; 0: there is none
  const bool lacks_head = policy == HeadPolicy::may_differ && !rules.head.empty() &&
                          !stored.contains(rules.head + ".weight") &&
                          !stored.contains(rules.head + ".bias");
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const NamedTensor& target : targets) {
    const auto it = stored.find(target.name);
    if (it == stored.end()) {
      if (target.name.ends_with(".num_batches_tracked")) continue;
      for (const UnreadTensor& t : weights.unread) {
        if (t.name == prefix.text + target.name) {
          refuse_weights(weights, fmt::format("tensor '{}' {}, which ffkit does not support",
                                              printable(t.name), t.what));
        }
      }
      if (lacks_head && is_of_head(rules, target.name)) {
        has_head = false;
        rows = 0;
        continue;
      }
      refuse_weights(
          weights,
          fmt::format(
              "the file has no tensor '{}', which a {} needs; give other weights or another {}",
              target.name, rules.name, rules.choice));
    }
    const at::Tensor tensor = it->second;
    stored.erase(it);
    if (policy == HeadPolicy::may_differ && is_other_head(rules, target, tensor)) {
      has_head = false;
      rows = tensor.size(0);
      continue;
    }
    if (!can_be_converted(tensor.scalar_type(), target.tensor.scalar_type()) ||
        tensor.sizes() != target.tensor.sizes()) {
      refuse_weights(weights,
                     fmt::format("the tensor '{}' is {}, but the model needs {}; give other "
                                 "weights, another {} or other options",
                                 target.name, type_and_shape(tensor.scalar_type(), tensor.sizes()),
                                 type_and_shape(target.tensor.scalar_type(), target.tensor.sizes()),
                                 rules.choice));
    }
    copies.emplace_back(target.tensor, tensor);
  }
  if (!stored.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : stored) names.push_back(name);
    refuse_weights(weights, fmt::format("the file contains the tensor '{}', which a {} does not "
                                        "have; give other weights or another {}",
                                        printable(*std::min_element(names.begin(), names.end())),
                                        rules.name, rules.choice));
  }
  if (const std::string note = unread_note(weights); !note.empty()) notes->push_back(note);
  if (rows == 0) {
    notes->push_back(fmt::format("it has no head; the head of {} {} gets new random weights",
                                 rows_of_head(rules, targets), rules.rows));
  } else if (rows) {
    notes->push_back(
        fmt::format("its head has {} {}, but the data set has {}; the head gets new random weights",
                    *rows, rules.rows, rows_of_head(rules, targets)));
  }
  at::NoGradGuard no_grad;
  for (auto& [to, from] : copies) to.copy_(from);
  return has_head;
}

}  // namespace ffkit
