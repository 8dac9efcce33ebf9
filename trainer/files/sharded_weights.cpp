#include "files/sharded_weights.h"

#include <fmt/format.h>

#include <set>

#include <nlohmann/json.hpp>

#include "base/file/file.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".index.json";

[[noreturn]] void refuse_index(const fs::path& path, const std::string& message) {
  throw error_at(path, ErrorCode::corrupt, message);
}

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
    refuse_index(path, "is no index of weights: it has no 'weight_map'");
  WeightsIndex index;
  std::set<fs::path> files;
  for (const auto& [name, value] : map->items()) {
    if (!value.is_string())
      refuse_index(path, fmt::format("names no file for the tensor '{}'", printable(name)));
    const fs::path file = value.get<std::string>();
    // A file of the folder, or of one in it.
    bool leads_out = file.empty() || file.is_absolute();
    for (const fs::path& step : file) leads_out = leads_out || step == "..";
    if (leads_out) {
      refuse_index(path, fmt::format("names '{}' for the tensor '{}', which is not in its folder",
                                     printable(file.native()), printable(name)));
    }
    index.file_of.emplace(name, path.parent_path() / file);
    files.insert(path.parent_path() / file);
  }
  for (const fs::path& file : files) {
    if (fs::exists(file)) continue;
    throw error_at(path, ErrorCode::not_found,
                   "names {} files, but {} is not there; download it too", files.size(),
                   file.filename().string());
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

}  // namespace ffkit
