#include "tfrecord/tfds_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/class_list.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using FeatureJson = nlohmann::json;
using Shapes = std::map<std::string, std::vector<int64_t>>;

// protobuf's JSON has 64-bit numbers as texts.
int64_t tfds_number(const FeatureJson& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  const auto& text = value.get_ref<const std::string&>();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw error_of(ErrorCode::corrupt, "'{}' is no number", text.substr(0, 40));
  }
  return number;
}

// The feature `name`, which stands in lists of the lengths `outer`.
void add_shapes(const FeatureJson& feature, const std::string& name, std::vector<int64_t> outer,
                int depth, Shapes& shapes) {
  constexpr int kMaxDepth = 32;
  if (depth > kMaxDepth) throw Error(ErrorCode::corrupt, "features are nested too deeply");
  if (feature.contains("featuresDict")) {
    for (const auto& [key, child] : feature.at("featuresDict").at("features").items()) {
      add_shapes(child, name.empty() ? key : fmt::format("{}/{}", name, key), outer, depth + 1,
                 shapes);
    }
    return;
  }
  if (feature.contains("sequence")) {
    const FeatureJson& sequence = feature.at("sequence");
    // Left out where it differs, as -1 is.
    outer.push_back(sequence.contains("length") ? tfds_number(sequence.at("length")) : -1);
    add_shapes(sequence.at("feature"), name, std::move(outer), depth + 1, shapes);
    return;
  }
  for (const char* kind : {"tensor", "boundingBox"}) {
    if (!feature.contains(kind)) continue;
    const FeatureJson& tensor = feature.at(kind);
    // Other encodings are bytes.
    if (tensor.contains("encoding") && tensor.at("encoding") != "none") continue;
    if (!tensor.contains("shape")) continue;
    const FeatureJson& shape = tensor.at("shape");
    if (shape.contains("dimensions")) {
      for (const FeatureJson& extent : shape.at("dimensions")) {
        outer.push_back(tfds_number(extent));
      }
    }
  }
  // With two lengths that differ the rows do not tell them.
  if (outer.size() >= 2 && std::ranges::count(outer, -1) <= 1) shapes[name] = std::move(outer);
}

}  // namespace

Shapes read_tfds_shapes(const fs::path& path, std::string_view json) {
  Shapes shapes;
  try {
    add_shapes(FeatureJson::parse(json), "", {}, 0, shapes);
  } catch (const FeatureJson::exception& error) {
    throw source_error(path, ErrorCode::corrupt,
                       "is no features.json of TensorFlow Datasets ({}); take it away, and the "
                       "shapes of tensors are those of the records",
                       error.what());
  } catch (const Error& error) {
    throw error.within({.path = path});
  }
  return shapes;
}

std::map<std::string, int64_t> read_tfds_counts(const fs::path& path, std::string_view json) {
  std::map<std::string, int64_t> counts;
  try {
    const FeatureJson info = FeatureJson::parse(json);
    for (const FeatureJson& split : info.value("splits", FeatureJson::array())) {
      // Old files count otherwise.
      if (!split.contains("shardLengths")) continue;
      int64_t& count = counts[split.at("name").get<std::string>()];
      for (const FeatureJson& length : split.at("shardLengths")) count += tfds_number(length);
    }
  } catch (const FeatureJson::exception& error) {
    throw source_error(path, ErrorCode::corrupt,
                       "is no dataset_info.json of TensorFlow Datasets ({}); take it away, and the "
                       "records are not compared with it",
                       error.what());
  } catch (const Error& error) {
    throw error.within({.path = path});
  }
  return counts;
}

std::vector<std::string> find_tfds_classes(const fs::path& records, const std::string& feature) {
  std::string name = feature;
  std::ranges::replace(name, '/', '-');
  const std::optional<fs::path> file = file_beside(records, name + ".labels.txt");
  if (!file) return {};
  return read_class_list(*file);
}

}  // namespace ffkit
