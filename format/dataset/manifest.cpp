#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include <ffkit/format/manifest.h>

#include "base/file/file.h"
#include "base/fnv.h"
#include "base/json_text.h"
#include "base/make_error.h"
#include "base/other_words.h"
#include "base/printable.h"
#include "dataset/manifest_text.h"
#include "schema/schema_json.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

using Json = nlohmann::json;                 // for reading: a key is found in a tree
using OrderedJson = nlohmann::ordered_json;  // for writing: looks at all keys to find one

constexpr uint64_t kVersion = 2;

[[noreturn]] void throw_corrupt_manifest(const std::filesystem::path& path,
                                         const std::string& message) {
  throw dataset_error(path, ErrorCode::corrupt, message + "; copy or convert the data set again");
}

// A shard's name must stay within the split's folder.
// The system ends a name at a null: "shard-00000.ffr" would be opened by other names too.
bool has_slash_or_null(const std::string& name) {
  return name.find_first_of(std::string_view("/\0", 2)) != std::string::npos;
}

bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && !has_slash_or_null(name);
}

int64_t sum(const std::vector<ManifestShard>& shards, int64_t ShardSummary::*member) {
  int64_t total = 0;
  for (const ManifestShard& shard : shards) total += shard.*member;
  return total;
}

void require_different_files(const std::vector<ManifestShard>& shards,
                             const std::filesystem::path& path) {
  std::vector<std::string_view> names;
  names.reserve(shards.size());
  for (const ManifestShard& shard : shards) names.push_back(shard.file);
  std::ranges::sort(names);  // they are in order already, as a rule
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return;
  throw_corrupt_manifest(path, fmt::format("the shard '{}' is listed twice", *twice));
}

std::vector<ClassId> class_ids_of(const Json& json) {
  std::vector<ClassId> ids;
  for (const Json& id : json) {
    if (id.is_number_integer()) {
      ids.emplace_back(id.get<int64_t>());
    } else {
      ids.emplace_back(id.get<std::string>());
    }
  }
  return ids;
}

OrderedJson to_json(const Manifest& manifest) {
  auto shards = OrderedJson::array();
  for (const ManifestShard& shard : manifest.shards) {
    shards.push_back({{"file", shard.file},
                      {"num_records", shard.num_records},
                      {"file_bytes", shard.file_bytes},
                      {"record_bytes", shard.record_bytes},
                      {"raw_bytes", shard.raw_bytes},
                      {"catalog_crc32c", shard.checksum}});
  }
  OrderedJson json = {{"format", "ffkit-dataset"},
                      {"version", kVersion},
                      {"split", manifest.split},
                      {"num_records", manifest.num_records()},
                      {"schema", schema_to_json(manifest.schema)},
                      {"source", manifest.source},
                      {"options", manifest.options},
                      {"created_by", manifest.created_by},
                      {"shards", std::move(shards)},
                      {"classes", manifest.classes},
                      {"class_names", manifest.class_names}};
  if (manifest.class_ids.empty()) return json;
  auto& ids = json["class_ids"] = OrderedJson::array();
  for (const ClassId& id : manifest.class_ids) {
    std::visit([&](const auto& value) { ids.push_back(OrderedJson(value)); }, id);
  }
  return json;
}

// A manifest may list hundreds of thousands of shards: this list is read by simdjson, the rest,
// which is small, from a tree.
namespace dom = simdjson::dom;

template <typename T>
T count_of(const dom::object& shard, const char* key) {
  dom::element element;
  if (shard[key].get(element) != simdjson::SUCCESS) {
    throw Error(ErrorCode::corrupt, fmt::format("an entry of 'shards' has no '{}'", key));
  }
  uint64_t count = 0;
  if (element.get(count) != simdjson::SUCCESS || !std::in_range<T>(count)) {
    throw Error(ErrorCode::corrupt,
                fmt::format("the '{}' of a shard is {}, but must be a whole number from 0 to {}",
                            key, simdjson::minify(element), std::numeric_limits<T>::max()));
  }
  return static_cast<T>(count);
}

ManifestShard shard_from_json(const dom::element& element) {
  dom::object shard;
  std::string_view file;
  if (element.get(shard) != simdjson::SUCCESS || shard["file"].get(file) != simdjson::SUCCESS) {
    throw Error(ErrorCode::corrupt, "an entry of 'shards' names no file");
  }
  return {{.num_records = count_of<int64_t>(shard, "num_records"),
           .file_bytes = count_of<int64_t>(shard, "file_bytes"),
           .record_bytes = count_of<int64_t>(shard, "record_bytes"),
           .raw_bytes = count_of<int64_t>(shard, "raw_bytes"),
           .checksum = count_of<uint32_t>(shard, "catalog_crc32c")},
          std::string(file)};
}

struct ParsedManifest {
  Json rest;  // without "shards"
  dom::array shards;
};

ParsedManifest parse_manifest(dom::parser& parser, const std::string& text) {
  dom::object whole;
  const simdjson::error_code error =
      parser.parse(simdjson::padded_string_view(text.data(), text.size(), text.capacity()))
          .get(whole);
  if (error != simdjson::SUCCESS) {
    // The other parser says better what is wrong, and where.
    [[maybe_unused]] const Json tree = Json::parse(text);
    throw Error(ErrorCode::corrupt,
                fmt::format("the manifest cannot be read ({})", simdjson::error_message(error)));
  }
  ParsedManifest parsed{.rest = Json::object(), .shards = {}};
  bool has_shards = false;
  for (const auto& [key, value] : whole) {
    if (key != "shards") {
      parsed.rest[std::string(key)] = Json::parse(simdjson::minify(value));
      continue;
    }
    if (value.get(parsed.shards) != simdjson::SUCCESS) {
      throw Error(ErrorCode::corrupt, "'shards' is not a list");
    }
    has_shards = true;
  }
  if (!has_shards) throw Error(ErrorCode::corrupt, "the manifest lists no 'shards'");
  return parsed;
}

Manifest manifest_of(const ParsedManifest& parsed, const std::filesystem::path& path) {
  const Json& json = parsed.rest;
  if (json.value("format", "") != "ffkit-dataset")
    throw_corrupt_manifest(path, "the file is not the manifest of an ffkit data set");
  if (const auto version = count_at<uint64_t>(json, "version"); version > kVersion) {
    throw dataset_error(path, ErrorCode::unsupported,
                        "the data set has format version {}, but this program knows only versions "
                        "up to {}; use a newer ffkit",
                        version, kVersion);
  }
  Manifest manifest;
  manifest.split = json.at("split").get<std::string>();
  // A program that makes files of a split names them so.
  if (has_slash_or_null(manifest.split) || manifest.split == "." || manifest.split == "..") {
    throw_corrupt_manifest(
        path,
        fmt::format("the split has the name '{}', but this name would lead out of the data set",
                    manifest.split));
  }
  manifest.schema = schema_from_json(json.at("schema"));
  manifest.classes = json.at("classes").get<std::vector<std::string>>();
  manifest.class_names = json.at("class_names").get<std::vector<std::string>>();
  if (json.contains("class_ids")) manifest.class_ids = class_ids_of(json.at("class_ids"));
  manifest.source = json.at("source").get<std::map<std::string, std::string>>();
  manifest.options =
      with_current_names(json.at("options").get<std::map<std::string, std::string>>());
  manifest.created_by = json.value("created_by", "");
  int64_t num_records = 0;
  int64_t file_bytes = 0;
  int64_t record_bytes = 0;
  int64_t raw_bytes = 0;
  manifest.shards.reserve(parsed.shards.size());  // of more than 16 million it is 16 million
  for (const dom::element& item : parsed.shards) {
    ManifestShard shard = shard_from_json(item);
    if (!is_plain_file_name(shard.file))
      throw_corrupt_manifest(path,
                             fmt::format("'{}' cannot be the file name of a shard", shard.file));
    if (__builtin_add_overflow(num_records, shard.num_records, &num_records) ||
        __builtin_add_overflow(file_bytes, shard.file_bytes, &file_bytes) ||
        __builtin_add_overflow(record_bytes, shard.record_bytes, &record_bytes) ||
        __builtin_add_overflow(raw_bytes, shard.raw_bytes, &raw_bytes)) {
      throw_corrupt_manifest(path, "the shards have too many records or bytes");
    }
    manifest.shards.push_back(std::move(shard));
  }
  require_different_files(manifest.shards, path);
  if (count_at<int64_t>(json, "num_records") != num_records) {
    throw_corrupt_manifest(path, "'num_records' is not the sum of the records of all shards");
  }
  if (!manifest.class_names.empty() && manifest.class_names.size() != manifest.classes.size()) {
    throw_corrupt_manifest(path, fmt::format("the manifest has {} class names for {} classes",
                                             manifest.class_names.size(), manifest.classes.size()));
  }
  if (!manifest.class_ids.empty() && manifest.class_ids.size() != manifest.classes.size()) {
    throw_corrupt_manifest(path, fmt::format("the manifest has {} class ids for {} classes",
                                             manifest.class_ids.size(), manifest.classes.size()));
  }
  return manifest;
}

}  // namespace

std::string to_string(const ClassId& id) {
  const auto* const number = std::get_if<int64_t>(&id);
  return number != nullptr ? std::to_string(*number) : std::get<std::string>(id);
}

int64_t Manifest::num_records() const {
  return sum(shards, &ShardSummary::num_records);
}
int64_t Manifest::file_bytes() const {
  return sum(shards, &ShardSummary::file_bytes);
}
int64_t Manifest::record_bytes() const {
  return sum(shards, &ShardSummary::record_bytes);
}
int64_t Manifest::raw_bytes() const {
  return sum(shards, &ShardSummary::raw_bytes);
}

std::string Manifest::fingerprint() const {
  uint64_t hash = kFnvBasis;
  for (const ManifestShard& shard : shards) {
    hash = fnv1a64(std::as_bytes(std::span(&shard.num_records, 1)), hash);
    hash = fnv1a64(std::as_bytes(std::span(&shard.checksum, 1)), hash);
  }
  return fmt::format("{:016x}", hash);
}

Manifest read_manifest(const std::filesystem::path& path) {
  return parse_manifest_text(read_text_at(path, kMaxWholeFileBytes), path);
}

Manifest parse_manifest_text(std::string text, const std::filesystem::path& path) {
  if (const auto null = std::ranges::find(text, '\0'); null != text.end()) {
    // A power cut leaves such; the parser would take it for the end.
    throw_corrupt_manifest(
        path, fmt::format("byte {} of the manifest is 0, but text cannot contain this byte",
                          null - text.begin()));
  }
  try {
    return errors_only(path, [&] {
      text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
      dom::parser parser;
      return manifest_of(parse_manifest(parser, text), path);
    });
  } catch (const nlohmann::json::exception& e) {
    throw_corrupt_manifest(path, fmt::format("the manifest cannot be read ({})", e.what()));
  } catch (const Error& e) {
    if (!e.context().path.empty()) throw;
    if (e.code() == ErrorCode::corrupt) throw_corrupt_manifest(path, e.what());
    throw e.within({.path = path.string()});
  }
}

std::string manifest_text(const Manifest& manifest, const std::filesystem::path& path) {
  return json_text(to_json(manifest), path, /*indent=*/1) + "\n";
}

std::string fault_of_split_name(std::string_view name) {
  constexpr size_t kMaxBytes = 200;  // file systems take 255, endings included
  if (name.empty()) return "is empty";
  if (name.size() > kMaxBytes) return fmt::format("is longer than {} bytes", kMaxBytes);
  if (name.find('/') != std::string_view::npos) return "has a '/'";
  // "." and ".." among them, and the marker of unfinished conversions.
  if (name.starts_with('.')) return "begins with a dot";
  if (printable(name) != name) return "has control characters, or is not UTF-8 text";
  if (name == "report.jsonl" || name == "meta.pkl") return "belongs to a file of the data set";
  return {};
}

void write_manifest(const std::filesystem::path& path, const Manifest& manifest) {
  const std::string text = manifest_text(manifest, path);
  if (Place(path).is_in_store()) {
    if (write_object_once(path, text)) return;
    throw dataset_error(path, ErrorCode::invalid_argument,
                        "another program has already written this file with other contents; remove "
                        "the split, or give another place");
  }
  std::filesystem::path written = path;
  written += ".tmp";
  const bool is_replacement = errors_only(path, [&] { return std::filesystem::exists(path); });
  try {
    File file = File::create(written);
    file.write(std::as_bytes(std::span(text)));
    file.sync();
    file.close();
    rename_file(written, path);
    // What a power cut may take back is not written. A replaced manifest cannot be had back, so the
    // new one stays.
    if (!is_replacement) written = path;
    sync_folder_of(path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(written, ignored);
    throw;
  }
}

}  // namespace ffkit
