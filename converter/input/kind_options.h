// KindOptions: the options of a kind that are one struct, into which a call puts what it says of
// pictures, threads, temporary files and groups of files.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>

#include <ffkit/converter/source_kind.h>

namespace ffkit {

// `options` with what `arguments` say of those members that it has.
template <typename Options>
Options set_by(Options options, const SourceArguments& arguments) {
  if constexpr (requires { options.images = arguments.images; }) options.images = arguments.images;
  if constexpr (requires { options.store; }) options.store = arguments.images.store;
  if constexpr (requires { options.exif; }) options.exif = arguments.images.exif;
  if constexpr (requires { options.cancel; }) options.cancel = arguments.conversion.cancel;
  if constexpr (requires { options.group; }) options.group = arguments.group;
  if constexpr (requires { options.rows; }) options.rows = set_by(options.rows, arguments);
  if constexpr (requires { options.num_threads; }) {
    options.num_threads = arguments.conversion.num_threads;
  }
  if constexpr (requires { options.temporary_folder; }) {
    options.temporary_folder = arguments.temporary_folder;
  }
  return options;
}

// By describe(Options&, OptionTable&), where there is one: a member of that name hides it.
template <typename Options>
void describe_options(Options& options, OptionTable& table) {
  if constexpr (requires { describe(options, table); }) describe(options, table);
}

// `kOpen`(path, Options) opens the source. `kFiles`(path, Options): its files, where some of them
// will do.
template <typename Options, auto kOpen, auto kFiles = nullptr>
class KindOptions : public SourceOptions {
 public:
  void describe(OptionTable& table) override { describe_options(options_, table); }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    return kOpen(arguments.path, set_by(options_, arguments));
  }

  std::optional<FileListing> list_files(const SourceArguments& arguments) const override {
    if constexpr (std::is_null_pointer_v<decltype(kFiles)>) {
      return std::nullopt;
    } else {
      return kFiles(arguments.path, options_);
    }
  }

 protected:
  Options options_;
};

}  // namespace ffkit
