#include "files/foreign_weights.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/make_error.h"
#include "base/printable.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".index.json";

}  // namespace

std::optional<fs::path> weights_in_folder(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  return std::nullopt;
}

bool is_weights_index(const fs::path& path) {
  return path.filename().native().ends_with(kIndexEnding);
}

WeightsIndex read_weights_index(const fs::path& path) {
  const auto json = nlohmann::json::parse(read_whole_text(path), nullptr, false);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object())
    throw error_at(path, ErrorCode::corrupt,
                   "the file is not an index of weights, because it has no 'weight_map'");
  WeightsIndex index;
  std::set<fs::path> files;
  for (const auto& [name, value] : map->items()) {
    if (!value.is_string())
      throw error_at(path, ErrorCode::corrupt, "the index names no file for the tensor '{}'",
                     printable(name));
    const fs::path file = value.get<std::string>();
    // A file of the folder, or of one in it.
    bool leads_out = file.empty() || file.is_absolute();
    for (const fs::path& step : file) leads_out = leads_out || step == "..";
    if (leads_out) {
      throw error_at(path, ErrorCode::corrupt,
                     "the index names the file '{}' for the tensor '{}', but this "
                     "path is outside the folder of the index",
                     printable(file.native()), printable(name));
    }
    index.file_of.emplace(name, path.parent_path() / file);
    files.insert(path.parent_path() / file);
  }
  for (const fs::path& file : files) {
    if (fs::exists(file)) continue;
    throw error_at(path, ErrorCode::not_found,
                   "the index names {} files, but {} is missing; download the missing file too",
                   files.size(), file.filename().string());
  }
  index.files.assign(files.begin(), files.end());
  return index;
}

std::optional<fs::path> index_of_shard(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t of = name.rfind("-of-"), number = name.rfind('-', of == 0 ? 0 : of - 1);
  if (of == std::string::npos || number == std::string::npos) return std::nullopt;
  const fs::path index = path.parent_path() / (name.substr(0, number) + path.extension().string() +
                                               std::string(kIndexEnding));
  if (!fs::exists(index)) return std::nullopt;
  return index;
}

namespace {

constexpr std::string_view kOwnForms = "give weights in a .safetensors or .pth file";

// By its name, where bytes do not tell; empty: nothing is known.
std::string_view kind_by_name(std::string_view name) {
  if (name.ends_with(".msgpack")) return "a file of Flax (MessagePack)";
  if (name.ends_with(".onnx")) return "an ONNX model";
  if (name.ends_with(".pb")) return "a graph of TensorFlow";
  if (name.find(".ckpt.index") != name.npos || name.find(".ckpt.meta") != name.npos ||
      name.find(".data-00000-of-") != name.npos) {
    return "a part of a checkpoint of TensorFlow";
  }
  if (name.ends_with(".distcp")) return "a part of a checkpoint of torch.distributed.checkpoint";
  return {};
}

std::string remedy_of(ContentKind kind) {
  switch (kind) {
    case ContentKind::hdf5:
    case ContentKind::onnx:
    case ContentKind::gguf:
    case ContentKind::tflite:
      return std::string(kOwnForms);
    case ContentKind::pickle:
      return "save the tensors with torch.save() in Python";
    case ContentKind::numpy:
      return "save it in Python: torch.save({NAME: torch.from_numpy(numpy.load(OLD))}, NEW)";
    default:
      break;
  }
  const std::string remedy = content_remedy(kind);
  return remedy.empty() ? std::string(kOwnForms) : remedy;
}

}  // namespace

void refuse_foreign_weights(const File& file) {
  const fs::path& path = file.path();
  // By its name one of ours, which nobody downloads.
  const std::string name = path.filename().string();
  if (path.parent_path().extension() == ".parts" ||
      (name.starts_with("epoch-") && name.ends_with(".safetensors"))) {
    throw error_at(path, ErrorCode::corrupt,
                   "the file does not begin like a checkpoint; it is damaged, for example by a "
                   "power failure or a full disk");
  }
  std::array<std::byte, kContentHeadBytes> bytes{};
  const auto head = std::span(bytes).first(std::min(file.size(), std::ssize(bytes)));
  file.read_at(0, head);
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    throw error_at(path, ErrorCode::unsupported, "the file is {}, not weights; {}", what, remedy);
  };
  const ContentKind kind = content_kind(head);
  if (kind != ContentKind::unknown) refuse(content_name(kind), remedy_of(kind));
  if (const std::string_view named = kind_by_name(path.filename().native()); !named.empty())
    refuse(named, kOwnForms);
  if (std::ranges::all_of(head, [](std::byte b) { return b == std::byte{0}; }))
    refuse("a file that begins with zeros, like an unfinished download", "download it again");
  throw error_at(path, ErrorCode::unsupported,
                 "the file is neither a safetensors file nor a file that torch.save() wrote; {}",
                 kOwnForms);
}

void refuse_foreign_folder(const fs::path& folder) {
  constexpr std::array<std::pair<const char*, const char*>, 6> kKnown = {{
      {"tf_model.h5",
       "the folder has only weights of TensorFlow (tf_model.h5); convert the weights with "
       "transformers before version 5: from_pretrained(FOLDER, from_tf=True).save_pretrained(NEW)"},
      {"flax_model.msgpack",
       "the folder has only weights of Flax (flax_model.msgpack); convert the weights with "
       "transformers before version 5: from_pretrained(FOLDER, "
       "from_flax=True).save_pretrained(NEW)"},
      {".metadata",
       "the folder is a checkpoint of torch.distributed.checkpoint; convert the checkpoint to a "
       "file: python -m "
       "torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE"},
      {"zero_to_fp32.py",
       "the folder is a checkpoint of DeepSpeed; in this folder, convert the checkpoint to a file: "
       "python zero_to_fp32.py . FILE"},
      {"saved_model.pb",
       "the folder is a SavedModel of TensorFlow, not weights; fftrain reads weights from "
       ".safetensors and .pth files"},
      {"adapter_model.safetensors",
       "the folder has only an adapter (LoRA), not the weights of a model; merge the adapter in "
       "Python: model.merge_and_unload()"},
  }};
  const auto refuse = [&](const char* message) {
    throw error_at(folder, ErrorCode::not_found, message);
  };
  for (const auto& [name, message] : kKnown) {
    if (fs::exists(folder / name)) refuse(message);
  }
  constexpr char kUnpacked[] = "the folder is an unpacked .pth file; give the packed file";
  if (fs::exists(folder / "data.pkl")) refuse(kUnpacked);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (fs::exists(entry.path() / "data.pkl", ignored)) refuse(kUnpacked);
  }
}

}  // namespace ffkit
