#include "litdata/litdata_config.h"

#include <fmt/format.h>

#include "litdata/litdata_format.h"

namespace ffkit {

LitDataConfig read_litdata_config(const IndexValue& config) {
  if (config.find("encryption")) {
    throw config.error(ErrorCode::unsupported,
                       "says that the chunks are encrypted, which are not read; write them again "
                       "without encryption");
  }
  LitDataConfig read;
  const auto loader = config.find("item_loader");
  const std::string loader_name = loader ? loader->text() : "PyTreeLoader";
  read.are_tokens = loader_name == "TokensLoader";
  if (loader_name != "PyTreeLoader" && !read.are_tokens) {
    throw config.error(ErrorCode::unsupported,
                       fmt::format("has the item loader '{}', and chunks of PyTreeLoader and "
                                   "TokensLoader are read; write the samples with one of these",
                                   loader_name));
  }
  for (const IndexValue& format : config.at("data_format").list()) {
    read.formats.push_back(format.text());
  }
  const IndexValue spec = config.at("data_spec");
  try {
    read.names = leaf_names(spec.text());
  } catch (const Error& error) {
    throw spec.error(error.code(), error.message());
  }
  if (read.names.size() != read.formats.size() || (read.are_tokens && read.names.size() != 1)) {
    throw config.error(
        ErrorCode::corrupt,
        fmt::format("has {} formats for {} values of a sample; write the index again",
                    read.formats.size(), read.names.size()));
  }
  if (const auto compression = config.find("compression")) read.compression = compression->text();
  if (!read.compression.empty() && read.compression != "zstd" &&
      !read.compression.starts_with("zstd:")) {
    throw config.error(ErrorCode::unsupported,
                       fmt::format("has the compression '{}', and zstd is read; write the chunks "
                                   "with it",
                                   read.compression));
  }
  const auto level = config.find("compression_level");
  const std::string level_name = level ? level->text() : "chunk";
  if (level_name == "batch") {
    read.in_chunk = InChunk::frames;
  } else if (level_name == "sample") {
    read.in_chunk = InChunk::samples;
  } else if (level_name != "chunk" && !level_name.empty()) {
    throw config.error(ErrorCode::unsupported,
                       fmt::format("has the compression_level '{}', and chunk, batch and sample "
                                   "are read; write the chunks with one of these",
                                   level_name));
  }
  return read;
}

}  // namespace ffkit
