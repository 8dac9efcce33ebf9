#include "arrow/arrow_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>

#include <nlohmann/json.hpp>

#include "arrow/arrow_access.h"
#include "base/printable.h"

namespace ffkit {
namespace {

using HfFeature = nlohmann::json;

// Keys and values behind each other, each with its length in 32 bits.
std::map<std::string, std::string> metadata_of(const ArrowSchema& schema) {
  std::map<std::string, std::string> pairs;
  if (schema.metadata == nullptr) return pairs;
  const char* next = schema.metadata;
  const auto number = [&next] {
    int32_t value = 0;
    std::memcpy(&value, next, sizeof(value));
    next += sizeof(value);
    return value;
  };
  const auto text = [&] {
    const int32_t length = std::max(number(), 0);
    std::string value(next, static_cast<size_t>(length));
    next += length;
    return value;
  };
  for (int32_t left = number(); left > 0; --left) {
    std::string key = text();
    pairs[std::move(key)] = text();
  }
  return pairs;
}

// What Hugging Face's datasets say of their columns; null without.
HfFeature features_of(const ArrowSchema& schema) {
  const auto pairs = metadata_of(schema);
  const auto found = pairs.find("huggingface");
  if (found == pairs.end()) return {};
  const HfFeature parsed = HfFeature::parse(found->second, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("info") || !parsed["info"].is_object()) return {};
  return parsed["info"].value("features", HfFeature());
}

// Below lists, which are {"feature": ..., "_type": "Sequence"} or [...]. A struct has no type, and
// its members may be called as they like.
const HfFeature* item_feature(const HfFeature* feature) {
  if (feature == nullptr) return nullptr;
  if (feature->is_array() && feature->size() == 1) return &feature->front();
  const bool is_list = feature->is_object() && feature->contains("feature") &&
                       feature->contains("_type") && feature->at("_type").is_string();
  return is_list ? &feature->at("feature") : feature;
}

const HfFeature* member_feature(const HfFeature* feature, const std::string& name) {
  feature = item_feature(feature);
  if (feature == nullptr || !feature->is_object() || !feature->contains(name)) return nullptr;
  return &feature->at(name);
}

std::string feature_type(const HfFeature* feature) {
  if (feature == nullptr || !feature->is_object() || !feature->contains("_type")) return {};
  const HfFeature& type = feature->at("_type");
  return type.is_string() ? type.get<std::string>() : std::string();
}

std::vector<std::string> names_of_classes(const HfFeature* feature) {
  std::vector<std::string> names;
  if (feature_type(feature) != "ClassLabel" || !feature->contains("names")) return names;
  for (const HfFeature& name : feature->at("names")) {
    if (!name.is_string()) return {};
    names.push_back(name.get<std::string>());
  }
  return names;
}

std::optional<DType> number_type(std::string_view format) {
  if (const auto dtype = arrow_number_type(format)) return dtype;
  // Times are counted in numbers: days, and the time of a day, in 32 bits where they fit.
  if (format == "tdD" || format == "tts" || format == "ttm") return DType::i32;
  if (format.starts_with("td") || format.starts_with("tt") || format.starts_with("ts") ||
      format.starts_with("tD")) {
    return DType::i64;
  }
  return std::nullopt;
}

bool is_struct(const ArrowSchema& schema) {
  return std::string_view(schema.format) == "+s";
}

class ColumnFinder {
 public:
  ArrowColumns find(const ArrowSchema& root) {
    if (root.format == nullptr || !is_struct(root)) {
      throw Error(ErrorCode::corrupt, "the schema of the file has no columns");
    }
    const HfFeature features = features_of(root);
    for (int64_t i = 0; i < root.n_children; ++i) {
      const std::string name = arrow_name(*root.children[i]);
      if (name.empty()) {
        leave_out(name, "a column without a name");
        continue;
      }
      add(*root.children[i], name, {{.child = static_cast<size_t>(i)}},
          member_feature(&features, name), 0);
    }
    return std::move(found_);
  }

 private:
  void leave_out(const std::string& name, std::string_view what, bool is_null = false) {
    found_.left_out.push_back({name, std::string(what), is_null});
  }

  static int depth_of(const std::vector<ArrowStep>& steps) {
    return static_cast<int>(std::ranges::count_if(steps, &ArrowStep::is_list));
  }

  void add(const ArrowSchema& schema, const std::string& name, std::vector<ArrowStep> steps,
           const HfFeature* feature, int level) {
    constexpr int kMaxLevel = 16;
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    if (level > kMaxLevel) return leave_out(name, "nested too deeply");
    if (schema.dictionary != nullptr) return add_dictionary(schema, name, std::move(steps));
    if (is_struct(schema)) return add_struct(schema, name, steps, feature, level);
    if (format == "+l" || format == "+L" || format.starts_with("+w:")) {
      ArrowStep step{.is_list = true, .has_wide_offsets = format == "+L"};
      if (format.starts_with("+w:")) {
        step.fixed_size = arrow_fixed_size(format);
        if (step.fixed_size == 0) return leave_out(name, "lists without items");
      }
      steps.push_back(step);
      const size_t before = found_.columns.size();
      add(*schema.children[0], name, std::move(steps), item_feature(feature), level + 1);
      std::vector<int64_t> shape = fixed_shape(schema);
      const int64_t num_items =
          std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
      const bool is_tensor =
          !shape.empty() && found_.columns.size() == before + 1 && num_items == step.fixed_size;
      if (is_tensor && found_.columns.back().column.field.type == FieldType::tensor) {
        found_.columns.back().fixed_shape = std::move(shape);
        found_.columns.back().may_be_picture = false;
      }
      return;
    }
    add_leaf(schema, name, std::move(steps), feature);
  }

  void add_struct(const ArrowSchema& schema, const std::string& name,
                  const std::vector<ArrowStep>& steps, const HfFeature* feature, int level) {
    const std::string type = feature_type(feature);
    const bool is_file = is_file_struct(schema) &&
                         (type.empty() || type == "Image" || type == "Audio" || type == "Video");
    for (int64_t i = 0; i < schema.n_children; ++i) {
      const ArrowSchema& child = *schema.children[i];
      std::vector<ArrowStep> below = steps;
      below.push_back({.child = static_cast<size_t>(i)});
      const std::string member = arrow_name(child);
      if (is_file && member == "path" && depth_of(steps) > 0) {
        leave_out(name + "/path", "paths of files in a list");
        continue;
      }
      if (!is_file || member != "bytes") {
        add(child, fmt::format("{}/{}", name, member), std::move(below),
            member_feature(feature, member), level + 1);
        continue;
      }
      add_leaf(child, name, std::move(below), nullptr);
      ArrowColumn& bytes = found_.columns.back();
      bytes.may_be_picture = type.empty();
      bytes.is_of_file = true;
      if (type != "Image") continue;
      make_picture(bytes);
      if (feature->contains("mode") && feature->at("mode").is_string()) {
        bytes.column.mode = feature->at("mode").get<std::string>();
      }
    }
  }

  // As Hugging Face stores files: their bytes, or the path of a file elsewhere.
  static bool is_file_struct(const ArrowSchema& schema) {
    if (schema.n_children != 2) return false;
    bool has_bytes = false;
    bool has_path = false;
    for (int64_t i = 0; i < 2; ++i) {
      const std::string_view format = schema.children[i]->format;
      const std::string name = arrow_name(*schema.children[i]);
      has_bytes = has_bytes || (name == "bytes" && (format == "z" || format == "Z"));
      has_path = has_path || (name == "path" && (format == "u" || format == "U"));
    }
    return has_bytes && has_path;
  }

  static void make_picture(ArrowColumn& column) {
    Field& field = column.column.field;
    (field.type == FieldType::list ? field.item : field.type) = FieldType::image;
  }

  void add_dictionary(const ArrowSchema& schema, const std::string& name,
                      std::vector<ArrowStep> steps) {
    const std::string_view values = schema.dictionary->format;
    if ((values != "u" && values != "U") || depth_of(steps) > 1) {
      return leave_out(name, "a dictionary of values that are not texts");
    }
    ArrowColumn column{.column = {},
                       .place = {.leaf = ArrowLeaf::text,
                                 .steps = std::move(steps),
                                 .has_wide_offsets = values == "U",
                                 .index_format = schema.format}};
    finish(std::move(column), name, FieldType::string, DType::u8, values);
  }

  void add_leaf(const ArrowSchema& schema, const std::string& name, std::vector<ArrowStep> steps,
                const HfFeature* feature) {
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    ArrowColumn column{.column = {}, .place = {.steps = std::move(steps)}};
    ArrowPlace& place = column.place;
    if (const std::optional<DType> dtype = number_type(format)) {
      place.leaf = ArrowLeaf::number;
      const bool is_byte = *dtype == DType::u8 || *dtype == DType::i8;
      column.may_be_picture = is_byte && depth_of(place.steps) == 1;
      column.column.class_names = names_of_classes(feature);
      return finish(std::move(column), name, FieldType::scalar, *dtype, format);
    }
    if (format == "b") {
      place.leaf = ArrowLeaf::boolean;
      return finish(std::move(column), name, FieldType::scalar, DType::u8, format);
    }
    const bool is_text = format == "u" || format == "U" || format == "vu";
    const bool is_fixed = format.starts_with("w:");
    if (is_text || is_fixed || format == "z" || format == "Z" || format == "vz") {
      if (depth_of(place.steps) > 1) return leave_out(name, "lists of lists of texts or bytes");
      place.leaf = is_text ? ArrowLeaf::text : ArrowLeaf::bytes;
      place.has_wide_offsets = format == "U" || format == "Z";
      place.is_view = format == "vu" || format == "vz";
      place.fixed_size = is_fixed ? arrow_fixed_size(format) : 0;
      column.may_be_picture = !is_text && feature == nullptr;
      return finish(std::move(column), name, is_text ? FieldType::string : FieldType::bytes,
                    DType::u8, format);
    }
    leave_out(name, type_name(format), format == "n");
    if (format != "n") return;
    place.leaf = ArrowLeaf::nothing;
    place.depth = depth_of(place.steps);
    found_.left_out.back().place = std::move(place);
  }

  // What Arrow calls numbers and booleans; texts and bytes are alike, whatever their offsets.
  static std::string name_of_values(std::string_view format, DType dtype, ArrowLeaf leaf) {
    constexpr std::string_view kUnits = "smun";
    constexpr const char* kUnitNames[] = {"s", "ms", "us", "ns"};
    if (leaf == ArrowLeaf::text) return "string";
    if (leaf == ArrowLeaf::bytes) return "binary";
    if (leaf == ArrowLeaf::boolean) return "bool";
    if (format.size() < 3 || format[0] != 't') return std::string(to_string(dtype));
    if (format[1] == 'd') return format[2] == 'D' ? "date32" : "date64";
    const size_t unit = kUnits.find(format[2]);
    const char* const unit_name = unit == std::string_view::npos ? "?" : kUnitNames[unit];
    if (format[1] == 'D') return fmt::format("duration[{}]", unit_name);
    if (format[1] == 't') {
      return fmt::format("{}[{}]", dtype == DType::i32 ? "time32" : "time64", unit_name);
    }
    return fmt::format("timestamp[{}{}]", unit_name, format.size() > 4 ? ", with a time zone" : "");
  }

  // The shape of a column of Arrow's fixed_shape_tensor; empty for others.
  // https://arrow.apache.org/docs/format/CanonicalExtensions.html#fixed-shape-tensor
  static std::vector<int64_t> fixed_shape(const ArrowSchema& schema) {
    const auto pairs = metadata_of(schema);
    const auto name = pairs.find("ARROW:extension:name");
    const auto text = pairs.find("ARROW:extension:metadata");
    if (name == pairs.end() || text == pairs.end() || name->second != "arrow.fixed_shape_tensor") {
      return {};
    }
    const auto json = nlohmann::json::parse(text->second, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("shape") || !json["shape"].is_array()) return {};
    std::vector<int64_t> shape;
    for (const auto& extent : json["shape"]) {
      if (!extent.is_number_integer()) return {};
      shape.push_back(extent.get<int64_t>());
    }
    return shape;
  }

  static std::string type_name(std::string_view format) {
    if (format == "n") return "only nulls";
    if (format.starts_with("d:")) return "decimal numbers";
    if (format == "+m") return "a map";
    if (format.starts_with("+u")) return "a union";
    if (format.starts_with("+v")) return "views of lists";
    if (format.starts_with("+r")) return "run-end encoded";
    if (format.starts_with("ti")) return "an interval";
    return fmt::format("type '{}' of Arrow", printable(format));
  }

  // `type`: of one value.
  void finish(ArrowColumn column, const std::string& name, FieldType type, DType dtype,
              std::string_view format) {
    column.type = name_of_values(format, dtype, column.place.leaf);
    const int depth = column.place.depth = depth_of(column.place.steps);
    const bool is_number = type == FieldType::scalar;
    Field& field = column.column.field;
    if (depth == 0) {
      field = {name, type, dtype};
    } else if (!is_number) {
      field = {name, FieldType::list, dtype, false, type};
    } else if (depth == 1) {
      field = {name, FieldType::tensor, dtype};
    } else {
      field = {name, FieldType::list, dtype, false, FieldType::tensor};
    }
    found_.columns.push_back(std::move(column));
  }

  ArrowColumns found_;
};

}  // namespace

ArrowColumns arrow_columns(const ArrowSchema& schema) {
  return ColumnFinder().find(schema);
}

}  // namespace ffkit
