// Registry: the kinds of sources there are, for tools that let a user pick one by name. Immutable,
// thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <ffkit/converter/source.h>

namespace ffkit {

// A number that a kind of source wants to know, "--<name> N" on the command line.
struct SourceParameter {
  const char* name;
  const char* help;
  int64_t default_value;
  int64_t min_value;
  int64_t max_value;
};

struct SourceArguments {
  std::filesystem::path path;  // SRC; empty for kinds without one
  uint64_t seed = 0;           // for kinds that draw their samples
  std::map<std::string, int64_t>
      parameters;  // by SourceParameter::name; missing ones take their defaults
};

struct SourceKind {
  const char* name;         // "imagenet"
  const char* description;  // one line for --help
  const char* example;      // the arguments of an example call
  bool needs_path;
  std::span<const SourceParameter> parameters;
  std::unique_ptr<Source> (*open)(const SourceArguments&);
};

// All kinds, in the order in which help lists them.
std::span<const SourceKind> source_kinds();
// The kind called `name`; throws Error(not_found) that lists the names there are.
const SourceKind& source_kind(const std::string& name);

}  // namespace ffkit
