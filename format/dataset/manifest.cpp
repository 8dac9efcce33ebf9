#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <ffkit/format/manifest.h>

#include "base/file/file.h"
#include "base/fnv.h"
#include "base/json_text.h"
#include "base/make_error.h"
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
  throw Error(ErrorCode::corrupt, message + "; copy or convert the data set again",
              {.path = path.string(), .subject = ErrorSubject::dataset});
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

OrderedJson to_json(const ClassId& id) {
  return std::visit([](const auto& value) { return OrderedJson(value); }, id);
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
  for (const ClassId& id : manifest.class_ids) ids.push_back(to_json(id));
  return json;
}

constexpr const char* kUnreadable = "the manifest cannot be read ({})";

template <typename T>
T count_of(const Json& shard, const char* key) {
  if (const auto found = shard.find(key); found == shard.end() || found->is_discarded()) {
    throw Error(ErrorCode::corrupt, fmt::format("an entry of 'shards' has no '{}'", key));
  }
  return count_at<T>(shard, key);
}

ManifestShard shard_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("file") || !json.at("file").is_string()) {
    throw Error(ErrorCode::corrupt, "an entry of 'shards' names no file");
  }
  return {{.num_records = count_of<int64_t>(json, "num_records"),
           .file_bytes = count_of<int64_t>(json, "file_bytes"),
           .record_bytes = count_of<int64_t>(json, "record_bytes"),
           .raw_bytes = count_of<int64_t>(json, "raw_bytes"),
           .checksum = count_of<uint32_t>(json, "catalog_crc32c")},
          json.at("file").get<std::string>()};
}

// The shards of a manifest. Of the first one that is bad, it is said when all else is right.
class ShardList {
 public:
  explicit ShardList(const std::filesystem::path& path) : path_(path) {}

  void add(const Json& json) {
    if (error_ != nullptr) return;
    try {
      shards_.push_back(shard_from_json(json));
      require_sums(shards_.back());
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  std::vector<ManifestShard> take() {
    if (error_ != nullptr) std::rethrow_exception(error_);
    return std::move(shards_);
  }
  int64_t num_records() const { return num_records_; }

 private:
  void require_sums(const ManifestShard& shard) {
    if (!is_plain_file_name(shard.file)) {
      throw_corrupt_manifest(path_, fmt::format("'{}' is not a shard's file name", shard.file));
    }
    if (__builtin_add_overflow(num_records_, shard.num_records, &num_records_) ||
        __builtin_add_overflow(file_bytes_, shard.file_bytes, &file_bytes_) ||
        __builtin_add_overflow(record_bytes_, shard.record_bytes, &record_bytes_) ||
        __builtin_add_overflow(raw_bytes_, shard.raw_bytes, &raw_bytes_)) {
      throw_corrupt_manifest(path_, "the shards have more records or bytes than there can be");
    }
  }

  const std::filesystem::path& path_;
  std::vector<ManifestShard> shards_;
  std::exception_ptr error_;
  int64_t num_records_ = 0;
  int64_t file_bytes_ = 0;
  int64_t record_bytes_ = 0;
  int64_t raw_bytes_ = 0;
};

// A manifest may list hundreds of thousands of shards, so each is taken where it stands in the
// text; the rest, which is small, becomes a tree.
class ManifestParser : public nlohmann::json_sax<Json> {
 public:
  explicit ManifestParser(const std::filesystem::path& path) : path_(path) {}

  // Throws what nlohmann's parser does, and Error(corrupt).
  void parse(const std::string& text) {
    Json::sax_parse(text, this);
    if (is_too_deep_) {
      refuse("The JSON document was too deep (too many nested objects and arrays)");
    }
    if (!tree_.is_object()) refuse("The JSON element does not have the requested type.");
    if (!shards_) {
      throw Error(ErrorCode::corrupt, tree_.contains(kShards) ? "'shards' is not a list"
                                                              : "the manifest lists no 'shards'");
    }
  }

  const Json& rest() const { return tree_; }
  ShardList& shards() { return *shards_; }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string& /*text*/) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // not in JSON
  bool key(std::string& value) override {
    if (!is_beyond()) keys_.back() = std::move(value);
    return true;
  }
  bool start_object(size_t /*num*/) override {
    if (is_in_shards() && !open_.back()->empty()) return open_again(open_.back()->back());
    return open(Json::object());
  }
  bool end_object() override { return close(); }
  bool start_array(size_t /*num*/) override {
    if (depth_ == 1 && keys_.back() == kShards && tree_.is_object()) shards_.emplace(path_);
    return open(Json::array());
  }
  bool end_array() override { return close(); }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    refuse(error.what());
  }

 private:
  static constexpr const char* kShards = "shards";
  static constexpr size_t kMaxDepth = 1024;

  [[noreturn]] static void refuse(const char* why) {
    throw Error(ErrorCode::corrupt, fmt::format(kUnreadable, why));
  }
  bool is_beyond() const { return depth_ > kMaxDepth; }

  // Where the next value goes: in the innermost list or object that is open.
  Json& add(Json value) {
    if (open_.empty()) return tree_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_object()) return parent[keys_.back()] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }
  bool put(Json value) {
    if (is_beyond()) return true;
    add(std::move(value));
    take_shard();
    return true;
  }
  bool open(Json value) {
    ++depth_;
    is_too_deep_ = is_too_deep_ || is_beyond();
    if (is_beyond()) return true;
    open_.push_back(&add(std::move(value)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    const bool was_beyond = is_beyond();
    --depth_;
    if (was_beyond) return true;
    open_.pop_back();
    keys_.pop_back();
    take_shard();
    return true;
  }
  bool is_in_shards() const {
    return depth_ == 2 && shards_ && open_.back()->is_array() && keys_.front() == kShards;
  }
  // The tree of the shard before serves the next one: to make one takes as long as all the rest.
  bool open_again(Json& shard) {
    for (Json& value : shard) value = Json(Json::value_t::discarded);
    ++depth_;
    open_.push_back(&shard);
    keys_.emplace_back();
    return true;
  }
  // Of the list of shards, each element once it is whole.
  void take_shard() {
    if (!is_in_shards()) return;
    shards_->add(open_.back()->back());
    if (!open_.back()->back().is_object()) open_.back()->clear();
  }

  const std::filesystem::path& path_;
  Json tree_;
  std::optional<ShardList> shards_;
  std::vector<Json*> open_;
  std::vector<std::string> keys_;  // the last one of each that is open
  size_t depth_ = 0;
  bool is_too_deep_ = false;
};

Manifest manifest_of(ManifestParser& parsed, const std::filesystem::path& path) {
  const Json& json = parsed.rest();
  if (json.value("format", "") != "ffkit-dataset")
    throw_corrupt_manifest(path, "is not the manifest of an ffkit data set");
  if (const auto version = count_at<uint64_t>(json, "version"); version > kVersion) {
    throw dataset_error(
        path, ErrorCode::unsupported,
        "the data set has format version {}, newer than the {} this program knows; use "
        "a newer ffkit",
        version, kVersion);
  }
  Manifest manifest;
  manifest.split = json.at("split").get<std::string>();
  // A program that makes files of a split names them so.
  if (has_slash_or_null(manifest.split) || manifest.split == "." || manifest.split == "..") {
    throw_corrupt_manifest(
        path,
        fmt::format("the split is called '{}', which leads out of the data set", manifest.split));
  }
  manifest.schema = schema_from_json(json.at("schema"));
  manifest.classes = json.at("classes").get<std::vector<std::string>>();
  manifest.class_names = json.at("class_names").get<std::vector<std::string>>();
  if (json.contains("class_ids")) manifest.class_ids = class_ids_of(json.at("class_ids"));
  manifest.source = json.at("source").get<std::map<std::string, std::string>>();
  manifest.options = json.at("options").get<std::map<std::string, std::string>>();
  manifest.created_by = json.value("created_by", "");
  manifest.shards = parsed.shards().take();
  require_different_files(manifest.shards, path);
  if (count_at<int64_t>(json, "num_records") != parsed.shards().num_records()) {
    throw_corrupt_manifest(path, "num_records is not the sum over the shards");
  }
  if (!manifest.class_names.empty() && manifest.class_names.size() != manifest.classes.size()) {
    throw_corrupt_manifest(path, fmt::format("{} class names for {} classes",
                                             manifest.class_names.size(), manifest.classes.size()));
  }
  if (!manifest.class_ids.empty() && manifest.class_ids.size() != manifest.classes.size()) {
    throw_corrupt_manifest(path, fmt::format("{} class ids for {} classes",
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

Manifest parse_manifest_text(const std::string& text, const std::filesystem::path& path) {
  if (const auto null = std::ranges::find(text, '\0'); null != text.end()) {
    // A power cut leaves such; the parser would take it for the end.
    throw_corrupt_manifest(path,
                           fmt::format("byte {} of the manifest is null", null - text.begin()));
  }
  try {
    return errors_only(path, [&] {
      ManifestParser parser(path);
      parser.parse(text);
      return manifest_of(parser, path);
    });
  } catch (const Json::exception& e) {
    throw_corrupt_manifest(path, fmt::format(kUnreadable, e.what()));
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
  if (printable(name) != name) return "has control characters, or is no UTF-8 text";
  if (name == "report.jsonl" || name == "meta.pkl") return "is that of a file of the data set";
  return {};
}

void write_manifest(const std::filesystem::path& path, const Manifest& manifest) {
  const std::string text = manifest_text(manifest, path);
  if (Place(path).is_in_store()) {
    if (write_object_once(path, text)) return;
    throw dataset_error(path, ErrorCode::invalid_argument,
                        "is there already, and is another one: another program has written this "
                        "split; remove what is there or give another place");
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
