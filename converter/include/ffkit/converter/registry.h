// Registry: the kinds of sources there are, for tools that let a user pick one by name. Immutable,
// thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Something that a kind of source wants to know: "--<name> N", "--<name> TEXT" or the flag
// "--<name>" on the command line.
struct SourceParameter {
  enum class Type : uint8_t { number, flag, text };

  const char* name;
  const char* help;
  int64_t default_value = 0;  // of a number
  int64_t min_value = 0;
  int64_t max_value = 0;
  Type type = Type::number;
};

struct SourceArguments {
  std::filesystem::path path;  // SRC; empty for kinds without one
  uint64_t seed = 0;           // for kinds that draw their samples
  int num_threads = 0;         // for kinds that work while they are opened; 0: one for each core
  bool is_dry_run = false;     // nothing is to be left behind
  // Where large temporary files may be, as on the disk of the destination, which need not be there;
  // empty: $TMPDIR or /tmp.
  std::filesystem::path temporary_folder;
  const std::atomic<bool>* cancel =
      nullptr;          // for kinds that work while they are opened; may be null
  ImageStorage images;  // for kinds that have images, or take a part of it
  // By SourceParameter::name; missing ones take their defaults, and are false or empty. A text that
  // is given is not empty.
  std::map<std::string, int64_t> numbers;
  std::map<std::string, bool> flags;
  std::map<std::string, std::string> texts;

  int64_t number(const SourceParameter& parameter) const;
  bool flag(const std::string& name) const;
  std::string text(const std::string& name) const;
};

// A kind is a file sources/<name>_kind.cpp with the function
//
//   SourceKind <name>_kind();
//
// whose call is written from the name of the file: a new kind needs no other change. The file may
// hold the source itself, too.
struct SourceKind {
  const char* name;         // "imagenet"
  const char* description;  // one line for --help
  const char* example;      // the arguments of an example call
  bool needs_path;
  std::span<const SourceParameter> parameters;
  std::unique_ptr<Source> (*open)(const SourceArguments&);
  // Throws Error(invalid_argument) for arguments that no data could make right: wrong use, told
  // before the source is opened. May be null.
  void (*check)(const SourceArguments&) = nullptr;
  bool has_images = false;   // takes SourceArguments::images
  bool keeps_order = false;  // Source::has_record_references(): not shuffled, nothing left out
  // The same where it depends on the arguments. May be null.
  bool (*keeps_order_with)(const SourceArguments&) = nullptr;
  // Takes SourceArguments::images.store alone, jpeg or dct (and images.exif with takes_exif):
  // pictures stay as they are otherwise. Not together with has_images.
  bool takes_store = false;
  // takes SourceArguments::images.exif: nothing in its records is in pixels of the picture
  bool takes_exif = false;
  int place = 80;  // in the list of --help: small ones first, equal ones by name
};

// Wrong use of `kind`: SourceKind::check(), and texts that are given but empty. Throws
// Error(invalid_argument).
void check_arguments(const SourceKind& kind, const SourceArguments& arguments);

// All kinds, in the order in which help lists them.
std::span<const SourceKind> source_kinds();
// The kind called `name`; throws Error(not_found) that lists the names there are.
const SourceKind& source_kind(const std::string& name);

}  // namespace ffkit
