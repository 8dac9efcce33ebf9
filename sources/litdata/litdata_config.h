// What a LitData index says of all chunks of a data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rows/index_file.h"

namespace ffkit {

// How the samples of a chunk are compressed, beside chunks that are compressed as files.
enum class InChunk : uint8_t { plain, frames, samples };

struct LitDataConfig {
  std::vector<std::string> formats;
  std::vector<std::string> names;
  std::string compression;  // "zstd:4"; empty: none
  InChunk in_chunk = InChunk::plain;
  bool are_tokens = false;  // written for a TokensLoader
  bool operator==(const LitDataConfig&) const = default;
};

// Of the index's member "config". Throws IndexValue::error() of what is not read.
LitDataConfig read_litdata_config(const IndexValue& config);

}  // namespace ffkit
