// LitDataBuilder: chunks and index.json of LitData, by hand.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "little_bytes.h"
#include "whole_files.h"

namespace ffkit::testing {

class LitDataBuilder {
 public:
  // A leaf of the dictionary that a sample is.
  LitDataBuilder& add_leaf(const std::string& name, const std::string& format) {
    names_.push_back(R"(\\\")" + name + R"(\\\")");
    formats_.push_back('"' + format + '"');
    return *this;
  }
  // A member of the index's config.
  LitDataBuilder& set(const std::string& key, const std::string& json) {
    more_ += fmt::format(R"(, "{}": {})", key, json);
    return *this;
  }
  // In place of a dictionary of the leaves; JSON in a text in JSON.
  LitDataBuilder& set_spec(std::string spec) {
    spec_ = std::move(spec);
    return *this;
  }

  static std::string row(const std::vector<std::string>& values) { return sizes_and_items(values); }
  static std::string chunk(const std::vector<std::string>& rows) { return table_and_rows(rows); }

  // A chunk with an Arrow table behind its rows; `length`: what it says of the table's bytes, by
  // default the truth.
  static std::string table_chunk(const std::vector<std::string>& rows, const std::string& table,
                                 std::optional<uint32_t> length = std::nullopt) {
    return chunk(rows) + table + u32s({length.value_or(static_cast<uint32_t>(table.size()))}) +
           std::string("LDARW01\0", 8);
  }

  struct Frame {
    uint32_t num_samples = 0;
    std::string compressed;
    uint32_t num_bytes = 0;  // decompressed
  };
  // A chunk whose samples are in frames of zstd; `offsets` of samples in what they hold.
  static std::string framed_chunk(const std::vector<uint32_t>& offsets,
                                  const std::vector<Frame>& frames, uint16_t version = 1) {
    std::string table;
    std::string data;
    uint32_t first = 0;
    const size_t begin = 24 + 4 * offsets.size() + 24 * frames.size();
    for (const Frame& frame : frames) {
      table += u32s({first, frame.num_samples}) + bytes_of_number<uint64_t>(begin + data.size()) +
               u32s({static_cast<uint32_t>(frame.compressed.size()), frame.num_bytes});
      data += frame.compressed;
      first += frame.num_samples;
    }
    return std::string("LDFZ01\0\0", 8) + bytes_of_number(version) + std::string(2, '\0') +
           u32s({static_cast<uint32_t>(offsets.size() - 1), 256,
                 static_cast<uint32_t>(frames.size())}) +
           u32s(offsets) + table + data;
  }

  static std::string entry(const std::string& name, int64_t num_rows) {
    return fmt::format(R"({{"chunk_bytes": 1, "chunk_size": {}, "dim": null, "filename": "{}"}})",
                       num_rows, name);
  }

  std::string index(const std::vector<std::string>& entries) const {
    const std::vector<std::string> leaves(
        names_.size(), R"({\"type\": null, \"context\": null, \"children_spec\": []})");
    const std::string spec =
        spec_.empty() ? fmt::format(R"([1, {{\"type\": \"builtins.dict\", \"context\": \"[{}]\", )"
                                    R"(\"children_spec\": [{}]}}])",
                                    fmt::join(names_, ", "), fmt::join(leaves, ", "))
                      : spec_;
    return fmt::format(
        R"({{"chunks": [{}], "config": {{"data_format": [{}], "data_spec": "{}"{}}}}})",
        fmt::join(entries, ", "), fmt::join(formats_, ", "), spec, more_);
  }

  // Writes a chunk and its index into `folder`.
  void write_chunk(const std::filesystem::path& folder, const std::string& file,
                   size_t num_rows) const {
    std::filesystem::create_directories(folder);
    write_file(folder / "chunk-0-0.bin", file);
    write_file(folder / "index.json",
               index({entry("chunk-0-0.bin", static_cast<int64_t>(num_rows))}));
  }
  void write(const std::filesystem::path& folder, const std::vector<std::string>& rows) const {
    write_chunk(folder, chunk(rows), rows.size());
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> formats_;
  std::string spec_;
  std::string more_;
};

}  // namespace ffkit::testing
