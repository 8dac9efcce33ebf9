// SourceKind: a kind of sources (its name, options and rules), and a conversion with it.
// ffkit/sources/registry.h has all kinds.
// May change in any version (docs/stability.md).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// The arguments with which all kinds are opened.
struct SourceArguments {
  std::filesystem::path path;        // SRC; empty for kinds without one
  const ConvertOptions& conversion;  // seed, threads and the flag that stops them count in open()
  bool is_dry_run = false;           // nothing is to be left behind
  // Folder for large temporary files, such as one on the disk of the destination; it need not
  // exist. Empty: $TMPDIR or /tmp.
  std::filesystem::path temporary_folder;
  ImageStorage images;  // for kinds that have pictures, or take a part of it
  // For kinds with list_files(): makes the source from only these files.
  const GroupOfFiles* group = nullptr;
};

// The options of one call of a kind, beside those of all conversions. Not thread-safe.
class SourceOptions {
 public:
  virtual ~SourceOptions() = default;
  // Declares the options in `table`, which refers to this object from then on.
  virtual void describe(OptionTable& table) = 0;
  // Throws Error(invalid_argument) for options that are wrong for any data, before the source is
  // opened. `table` is the described one, with the given options.
  virtual void check(const OptionTable& /*table*/) const {}
  // Source::has_record_references(): not shuffled, nothing left out.
  virtual bool keeps_order() const { return false; }
  virtual std::unique_ptr<Source> open(const SourceArguments& arguments) const = 0;
  // The files of the source, without opening them; nothing for kinds that cannot be made from a
  // part of their files. Throws like open().
  virtual std::optional<FileListing> list_files(const SourceArguments& /*arguments*/) const {
    return std::nullopt;
  }
};

template <typename Options>
std::unique_ptr<SourceOptions> make_source_options() {
  return std::make_unique<Options>();
}

// For kinds with numbers that depend on options of the manifest, such as tokens: data sets must
// agree in these options to be joined.
struct MergeRule {
  const char* what;  // "tokens"
  std::span<const char* const> options;
  // Whether the rule applies to a split, from its name and the fields of its records.
  bool (*is_about)(const std::string& split, const Schema& schema);
  // Whether the split is the same in all data sets that agree, so that one copy is enough.
  bool (*is_shared)(const std::string& split, const Schema& schema);
};

struct SourceKind {
  const char* name;                             // "imagenet"
  const char* description;                      // one line for --help
  const char* example;                          // the arguments of an example call
  std::unique_ptr<SourceOptions> (*options)();  // make_source_options<...>
  bool needs_path = true;
  PictureUse pictures = PictureUse::none;
  bool takes_exif = false;  // nothing in its records is in pixels of the picture
  int place = 80;           // in the list of --help: small ones first, equal ones by name
  const MergeRule* merge_rule = nullptr;
};

// All kinds, in the order of --help. The library ffkit::sources defines it, because a merge needs
// the rules of the kinds.
std::span<const SourceKind> source_kinds();

// One conversion with a kind: all options of `ffconvert <kind>` and of Python's
// ffkit.convert.<kind>() in one table, with their rules. Not thread-safe; `kind` must outlive it.
class KindConversion {
 public:
  explicit KindConversion(const SourceKind& kind);
  KindConversion(const KindConversion&) = delete;
  KindConversion& operator=(const KindConversion&) = delete;

  const SourceKind& kind() const { return kind_; }
  // Values are set by Option::give().
  OptionTable& table() { return table_; }
  const OptionTable& table() const { return table_; }
  // `cancel`, `progress`, `note` and `command` are the caller's to set.
  ConvertOptions& options() { return options_; }
  // Chooses the order of the records, and throws Error(invalid_argument) for wrong use. Opens
  // nothing.
  void check();
  // Call it after check(). `destination` is the future place of the data set. With
  // ConvertOptions::by_files, the result refers to this object.
  std::unique_ptr<Source> open(const std::filesystem::path& path,
                               const std::filesystem::path& destination, bool is_dry_run) const;

 private:
  const SourceKind& kind_;
  std::unique_ptr<SourceOptions> own_;
  ImageStorage images_;
  ConvertOptions options_;
  OptionTable table_;  // over the members above
};

}  // namespace ffkit
