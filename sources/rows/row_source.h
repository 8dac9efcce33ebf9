// RowSource: the Source over a RowTable: which column becomes which field.
//
//   the picture   field `image`, first       --image-column, or the only column of pictures
//   the label     field `label`, scalar i64  --label-column, or the one that has classes or is
//                                            called so; --label-offset is added
//   the id        field `id`, last           --id-column, or a column `id` or `__key__`, or the
//                                            row's place
//   others        as they are, under their own names
//
// What was guessed is said in notes().
#pragma once

#include <memory>
#include <optional>
#include <type_traits>

#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/row_sources.h>

#include "rows/row_table.h"

namespace ffkit {

// Throws Error(invalid_argument) for a column that is not there or cannot be what the options say,
// and for two columns that would be one field; Error(not_found) for a table without rows.
std::unique_ptr<Source> make_row_source(std::unique_ptr<RowTable> table, const RowOptions& options);

// The options of a kind whose sources are opened by `kOpen`(path, RowOptions), in its file
// <name>_kind.cpp: make_source_options<RowSourceOptions<open_tfrecord>>. `kFiles`(path,
// RowOptions): their files, where some of them will do.
template <auto kOpen, auto kFiles = nullptr>
class RowSourceOptions : public SourceOptions {
 public:
  void describe(OptionTable& table) override { ffkit::describe(options_, table); }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    RowOptions options = options_;
    options.store = arguments.images.store;
    options.exif = arguments.images.exif;
    options.num_threads = arguments.conversion.num_threads;
    options.temporary_folder = arguments.temporary_folder;
    options.cancel = arguments.conversion.cancel;
    options.group = arguments.group;
    return kOpen(arguments.path, options);
  }

  std::optional<FileListing> list_files(const SourceArguments& arguments) const override {
    if constexpr (std::is_null_pointer_v<decltype(kFiles)>) {
      return std::nullopt;
    } else {
      return kFiles(arguments.path, options_);
    }
  }

 protected:
  RowOptions options_;
};

}  // namespace ffkit
