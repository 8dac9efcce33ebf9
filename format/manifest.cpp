#include <fmt/format.h>

#include <ffkit/format/error.h>
#include <ffkit/format/manifest.h>

#include "file.h"
#include "fnv.h"
#include "json_number.h"
#include "schema_json.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kVersion = 2;

[[noreturn]] void corrupt(const std::filesystem::path& path, const std::string& message) {
  throw Error(ErrorCode::corrupt, message + "; copy or convert the data set again",
              {.path = path.string()});
}

// A shard's name must stay within the split's folder.
bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

int64_t sum(const std::vector<ManifestShard>& shards, int64_t ManifestShard::*member) {
  int64_t total = 0;
  for (const ManifestShard& shard : shards) total += shard.*member;
  return total;
}

Json to_json(const Manifest& manifest) {
  auto shards = Json::array();
  for (const ManifestShard& shard : manifest.shards) {
    shards.push_back({{"file", shard.file},
                      {"num_records", shard.num_records},
                      {"file_bytes", shard.file_bytes},
                      {"record_bytes", shard.record_bytes},
                      {"raw_bytes", shard.raw_bytes},
                      {"catalog_crc32c", shard.catalog_crc32c}});
  }
  return {{"format", "ffkit-dataset"},
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
}

Manifest from_json(const Json& json, const std::filesystem::path& path) {
  if (json.value("format", "") != "ffkit-dataset")
    corrupt(path, "is not the manifest of an ffkit data set");
  if (const auto version = count_at<uint64_t>(json, "version"); version > kVersion) {
    throw Error(ErrorCode::unsupported,
                fmt::format("the data set has format version {}, newer than the {} this program "
                            "knows; use a newer ffkit",
                            version, kVersion),
                {.path = path.string()});
  }
  Manifest manifest;
  manifest.split = json.at("split").get<std::string>();
  manifest.schema = schema_from_json(json.at("schema"));
  manifest.classes = json.at("classes").get<std::vector<std::string>>();
  manifest.class_names = json.at("class_names").get<std::vector<std::string>>();
  manifest.source = json.at("source").get<std::map<std::string, std::string>>();
  manifest.options = json.at("options").get<std::map<std::string, std::string>>();
  manifest.created_by = json.value("created_by", "");
  int64_t num_records = 0;
  int64_t file_bytes = 0;
  int64_t record_bytes = 0;
  int64_t raw_bytes = 0;
  for (const Json& item : json.at("shards")) {
    ManifestShard shard{.file = item.at("file").get<std::string>(),
                        .num_records = count_at<int64_t>(item, "num_records"),
                        .file_bytes = count_at<int64_t>(item, "file_bytes"),
                        .record_bytes = count_at<int64_t>(item, "record_bytes"),
                        .raw_bytes = count_at<int64_t>(item, "raw_bytes"),
                        .catalog_crc32c = count_at<uint32_t>(item, "catalog_crc32c")};
    if (!is_plain_file_name(shard.file))
      corrupt(path, fmt::format("'{}' is not a shard's file name", shard.file));
    if (__builtin_add_overflow(num_records, shard.num_records, &num_records) ||
        __builtin_add_overflow(file_bytes, shard.file_bytes, &file_bytes) ||
        __builtin_add_overflow(record_bytes, shard.record_bytes, &record_bytes) ||
        __builtin_add_overflow(raw_bytes, shard.raw_bytes, &raw_bytes)) {
      corrupt(path, "the shards have more records or bytes than there can be");
    }
    manifest.shards.push_back(std::move(shard));
  }
  if (count_at<int64_t>(json, "num_records") != num_records) {
    corrupt(path, "num_records is not the sum over the shards");
  }
  if (!manifest.class_names.empty() && manifest.class_names.size() != manifest.classes.size()) {
    corrupt(path, fmt::format("{} class names for {} classes", manifest.class_names.size(),
                              manifest.classes.size()));
  }
  return manifest;
}

}  // namespace

int64_t Manifest::num_records() const {
  return sum(shards, &ManifestShard::num_records);
}
int64_t Manifest::file_bytes() const {
  return sum(shards, &ManifestShard::file_bytes);
}
int64_t Manifest::record_bytes() const {
  return sum(shards, &ManifestShard::record_bytes);
}
int64_t Manifest::raw_bytes() const {
  return sum(shards, &ManifestShard::raw_bytes);
}

std::string Manifest::fingerprint() const {
  uint64_t hash = kFnvBasis;
  for (const ManifestShard& shard : shards) {
    hash = fnv1a64(std::as_bytes(std::span(&shard.num_records, 1)), hash);
    hash = fnv1a64(std::as_bytes(std::span(&shard.catalog_crc32c, 1)), hash);
  }
  return fmt::format("{:016x}", hash);
}

Manifest read_manifest(const std::filesystem::path& path) {
  const File file = File::open_for_reading(path);
  std::vector<std::byte> text(static_cast<size_t>(file.size()));
  file.read_at(0, text);
  try {
    return from_json(Json::parse(reinterpret_cast<const char*>(text.data()),
                                 reinterpret_cast<const char*>(text.data()) + text.size()),
                     path);
  } catch (const nlohmann::json::exception& e) {
    corrupt(path, fmt::format("the manifest cannot be read ({})", e.what()));
  } catch (const Error& e) {
    if (!e.context().path.empty()) throw;
    if (e.code() == ErrorCode::corrupt) corrupt(path, e.what());
    throw Error(e.code(), e.what(), {.path = path.string()});
  }
}

void write_manifest(const std::filesystem::path& path, const Manifest& manifest) {
  const std::string text = to_json(manifest).dump(1) + "\n";
  std::filesystem::path written = path;
  written += ".tmp";
  const bool is_replacement = std::filesystem::exists(path);
  try {
    File file = File::create(written);
    file.write(std::as_bytes(std::span(text)));
    file.sync();
    file.close();
    rename_file(written, path);
    // What a power cut may take back is not written. A replaced manifest cannot be had back, so the new one stays.
    if (!is_replacement) written = path;
    sync_folder_of(path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(written, ignored);
    throw;
  }
}

}  // namespace ffkit
