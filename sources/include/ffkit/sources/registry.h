// Registry: the kinds of sources there are, for tools that let a user pick one by name. Immutable,
// thread-safe.
//
// A kind is a file sources/<name>/<name>_kind.cpp with the function
//
//   SourceKind <name>_kind();
//
// whose call is written from the name of the file: a new kind needs no other change. The file may
// hold the source itself, too.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/source_kind.h>

namespace ffkit {

// All kinds, in the order in which help lists them.
std::span<const SourceKind> source_kinds();
// The kind called `name`; throws Error(not_found) that lists the names there are.
const SourceKind& source_kind(const std::string& name);

// As KindConversion, of `ffconvert transcode` and ffkit.convert.transcode(): from a data set, with
// its shards and compression unless others are given.
class TranscodeConversion {
 public:
  TranscodeConversion();
  TranscodeConversion(const TranscodeConversion&) = delete;
  TranscodeConversion& operator=(const TranscodeConversion&) = delete;

  OptionTable& table() { return table_; }
  ConvertOptions& options() { return options_; }
  void check();
  std::unique_ptr<Source> open(const std::filesystem::path& path);

 private:
  ImageStorage images_;
  ConvertOptions options_;
  OptionTable table_;  // over the members above
};

}  // namespace ffkit
