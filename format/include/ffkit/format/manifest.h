// Manifest: the contents of `<data set>/<split>/manifest.json` (FORMAT.md, "Data set folder"). A
// plain value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/format/shard_facts.h>

namespace ffkit {

// Id of a class in the original data: a number or a text, such as COCO's category id.
using ClassId = std::variant<int64_t, std::string>;
// 90, or toothbrush.
std::string to_string(const ClassId& id);

struct ManifestShard : ShardSummary {
  std::string file;  // name in the split's folder, "shard-00000.ffr"
};

struct Manifest {
  std::string split;  // "train", "val", ...
  Schema schema;
  // The class of each label, e.g. "n01440764"; may be empty.
  std::vector<std::string> classes;
  // Readable names of the same classes; empty or as many as `classes`.
  std::vector<std::string> class_names;
  std::vector<ClassId> class_ids;     // of the same classes; empty or as many as `classes`
  std::vector<ManifestShard> shards;  // in record order
  // Facts about where the data came from: "kind", "path", "archive", ...
  std::map<std::string, std::string> source;
  std::map<std::string, std::string> options;  // the converter's options: "seed", "shard_size", ...
  std::string created_by;                      // "ffconvert 1.0.0"

  [[nodiscard]] int64_t num_records() const;
  [[nodiscard]] int64_t file_bytes() const;
  [[nodiscard]] int64_t record_bytes() const;
  [[nodiscard]] int64_t raw_bytes() const;
  // Identifies the content: 16 hex digits over the record counts and checksums of all shards.
  [[nodiscard]] std::string fingerprint() const;
};

// Reads and checks a manifest; throws Error(not_found), Error(corrupt) or Error(unsupported) naming
// the file.
Manifest read_manifest(const std::filesystem::path& path);
// Writes it atomically (temporary name, fsync, rename, fsync of the folder). Throws Error(io), and
// Error(invalid_argument) for a text that is not UTF-8. After an error there is no manifest; if
// there was one before, the old or the new one is there. In a store nothing is replaced: if another
// manifest is there, that is Error(invalid_argument); an equal one counts as written.
void write_manifest(const std::filesystem::path& path, const Manifest& manifest);

}  // namespace ffkit
