// Existing data sets as sources. Throws Error with file, reason and remedy.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/dataset.h>

namespace ffkit {

// All splits of the data set at `path`, of FFRecord v1 or ffkit's own: a data set folder, one
// split's folder, a folder of v1 files, or one file. Throws Error(not_found) for a folder without
// any, and as Dataset::open does.
std::vector<Dataset> open_splits(const std::filesystem::path& path,
                                 const ShardReaderOptions& options = {});

// Existing data sets, mainly v1, each split a Dataset of open_splits(); records are copied field by
// field. Splits whose name begins with "train" are training splits. All must have the same schema
// and, if any, the same classes: Error(invalid_argument) otherwise.
std::unique_ptr<Source> open_datasets(std::vector<Dataset> splits);

// Data sets of ffkit, each split a whole Dataset of open_splits(), with the pictures converted to
// the dct code or, for StoreAs::jpeg, back to the original JPEGs. Everything else is kept: other
// fields, the order of the records, and the manifest with its schema, classes, facts and options. A
// picture without a dct code stays unchanged and is reported. Throws Error(invalid_argument) for
// FFRecord v1, for a part of a conversion, and without a field of pictures. Read errors are those
// of Dataset::read() and decode_dct_to_jpeg().
struct TranscodeOptions {
  StoreAs store = StoreAs::dct;  // or jpeg
  bool keeps_shards = true;      // with the same records as before; false: they are cut by size
};
std::unique_ptr<Source> open_transcoded(std::vector<Dataset> splits,
                                        const TranscodeOptions& options);
// Sets zstd_level and zstd_dictionary_bytes to the values of `splits`: the first level that is not
// 0, the largest dictionary.
void take_over_compression(const std::vector<Dataset>& splits, ConvertOptions& options);

// Like KindConversion (registry.h), for `ffconvert transcode` and ffkit.convert.transcode():
// converts a data set and keeps its shards and compression by default.
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
