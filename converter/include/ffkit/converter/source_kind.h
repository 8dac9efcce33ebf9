// SourceKind: what the engine knows of a kind of sources (its name, options and rules), and one
// conversion by it. ffkit/sources/registry.h has all kinds there are.
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

// What all kinds are opened with.
struct SourceArguments {
  std::filesystem::path path;        // SRC; empty for kinds without one
  const ConvertOptions& conversion;  // seed, threads and the flag that stops them count in open()
  bool is_dry_run = false;           // nothing is to be left behind
  // Where large temporary files may be, as on the disk of the destination, which need not be there;
  // empty: $TMPDIR or /tmp.
  std::filesystem::path temporary_folder;
  ImageStorage images;  // for kinds that have pictures, or take a part of it
  // For kinds that list_files(): the source is to be made of these alone.
  const GroupOfFiles* group = nullptr;
};

// The options of one call of a kind, beside those that all conversions have. Not thread-safe.
class SourceOptions {
 public:
  virtual ~SourceOptions() = default;
  // Declares the options in `table`, which refers to this object from then on.
  virtual void describe(OptionTable& table) = 0;
  // Throws Error(invalid_argument) for options that no data could make right: wrong use, told
  // before the source is opened. `table` is the described one, and says what was given.
  virtual void check(const OptionTable& /*table*/) const {}
  // Source::has_record_references(): not shuffled, nothing left out.
  virtual bool keeps_order() const { return false; }
  virtual std::unique_ptr<Source> open(const SourceArguments& arguments) const = 0;
  // The files that the source is made of, without a look into them; nothing for kinds that cannot
  // be made of some of their files. Throws as open().
  virtual std::optional<FileListing> list_files(const SourceArguments& /*arguments*/) const {
    return std::nullopt;
  }
};

template <typename Options>
std::unique_ptr<SourceOptions> make_source_options() {
  return std::make_unique<Options>();
}

// Of kinds whose records hold numbers that mean something by options of the manifest alone, such as
// tokens: data sets that are joined must agree in these options.
struct MergeRule {
  const char* what;  // "tokens"
  std::span<const char* const> options;
  // Of a split by its name and the fields of its records. Whether the rule is about it:
  bool (*is_about)(const std::string& split, const Schema& schema);
  // Whether it is the same in all data sets that agree, so that one of them is enough.
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

// All kinds, in the order in which help lists them. The library ffkit::sources defines it: a merge
// asks the kinds for their rules.
std::span<const SourceKind> source_kinds();

// One conversion by a kind: all options of `ffconvert <kind>` and of Python's
// ffkit.convert.<kind>() in one table, and the rules between them. Not thread-safe; `kind` must
// outlive it.
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
  // Settles the order of the records, and throws Error(invalid_argument) for wrong use. Opens
  // nothing.
  void check();
  // After check(). `destination` is where the data set will be. With ConvertOptions::by_files, what
  // is returned refers to this object.
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
