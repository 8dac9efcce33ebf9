// MdsBuilder: shards and index.json of MosaicML Streaming, by hand.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "little_bytes.h"
#include "whole_files.h"

namespace ffkit::testing {

class MdsBuilder {
 public:
  // `num_bytes`: 0 where each value says its size.
  MdsBuilder& add_column(const std::string& name, const std::string& encoding, int num_bytes = 0) {
    names_.push_back('"' + name + '"');
    encodings_.push_back('"' + encoding + '"');
    sizes_.push_back(num_bytes == 0 ? "null" : std::to_string(num_bytes));
    return *this;
  }

  std::string row(const std::vector<std::string>& values) const {
    std::string sizes;
    for (size_t i = 0; i < values.size(); ++i) {
      if (sizes_[i] == "null") sizes += bytes_of_number(static_cast<uint32_t>(values[i].size()));
    }
    return sizes + joined(values);
  }

  static std::string shard(const std::vector<std::string>& rows) {
    return table_and_rows(rows, R"({"format": "mds"})");
  }

  // One of an index's shards.
  std::string entry(const std::string& name, int64_t num_bytes, int64_t num_rows,
                    const std::string& compression = "null", const std::string& zip = "null",
                    const std::string& hashes = "") const {
    return fmt::format(
        R"({{"column_encodings": [{}], "column_names": [{}], "column_sizes": [{}], )"
        R"("compression": {}, "format": "mds", "hashes": [], "raw_data": {{"basename": "{}", )"
        R"("bytes": {}, "hashes": {{{}}}}}, "samples": {}, "size_limit": 67108864, "version": 2, )"
        R"("zip_data": {}}})",
        fmt::join(encodings_, ", "), fmt::join(names_, ", "), fmt::join(sizes_, ", "), compression,
        name, num_bytes, hashes, num_rows, zip);
  }

  static std::string index(const std::vector<std::string>& entries) {
    return fmt::format(R"({{"shards": [{}], "version": 2}})", fmt::join(entries, ", "));
  }

  // Writes a shard of the rows and its index into `folder`.
  void write(const std::filesystem::path& folder, const std::vector<std::string>& rows) const {
    std::filesystem::create_directories(folder);
    const std::string file = shard(rows);
    write_file(folder / "shard.00000.mds", file);
    write_file(folder / "index.json",
               index({entry("shard.00000.mds", static_cast<int64_t>(file.size()),
                            static_cast<int64_t>(rows.size()))}));
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> encodings_;
  std::vector<std::string> sizes_;
};

}  // namespace ffkit::testing
