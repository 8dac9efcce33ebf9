// FFRecord v1 (FORMAT.md, "Version 1"): writes data sets as files of the predecessor. Dataset::open
// reads such files; open_datasets() in sources/transcode.h is the Source to convert them.
//
//   DST/<split>.ffr/  PART_00000.ffr, PART_00001.ffr ..., by V1Writer
//   DST/meta.pkl      of ImageNet's payload: the classes, and the labels of the training split
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/summary.h>
#include <ffkit/format/dataset.h>

namespace ffkit {

// What a v1 record consists of.
enum class V1Content {
  automatic,  // imagenet where every split has an image and an integer field "label", else raw
  raw,        // the bytes of one field
  imagenet,   // the Python pickle of (bytes of an image field, label)
};
template <>
inline constexpr auto kNames<V1Content> = enum_names<V1Content>(
    "payload",
    {{V1Content::automatic, "auto"}, {V1Content::raw, "raw"}, {V1Content::imagenet, "imagenet"}});

struct V1Options {
  V1Content content = V1Content::automatic;
  // the field to write; empty: the first image field, or for raw the first of type image or bytes
  std::string field;
  // Size of a part, in bytes of the data set's records; 0: one part per shard.
  int64_t shard_bytes = 0;
  // The longest record to write. A longer one is an Error(unsupported), because readers refuse it
  // by default.
  int64_t max_record_bytes = ShardReaderOptions{}.max_record_bytes;
  // As in ConvertOptions.
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const ConvertProgress&)> progress;
  std::function<void(const std::string&)> note;
  // The shell command that finishes the data set if this call ends early; readers of the folder see
  // it. Empty: not known.
  std::string command;
};

// Declares `payload`, `field` and the options of a conversion; by default it keeps the order of
// SRC. Both must outlive `table`.
void describe(V1Options& options, ConvertOptions& conversion, OptionTable& table);
// Whether all of `splits`, which were opened at `path`, are of FFRecord v1, so that they must be
// read, not written. Throws Error(invalid_argument) if only some are.
bool are_v1(const std::vector<Dataset>& splits, const std::filesystem::path& path);
// Copies the options of a conversion that v1 has, too, and shard_bytes if it was given. Throws
// Error(invalid_argument) for given options that FFRecord v1 does not have.
void take_over(V1Options& options, const ConvertOptions& conversion, const OptionTable& table);

// Writes `splits`, which must have different names, into `destination`, like convert(): all or
// nothing, into a new or empty folder, which readers refuse until it is complete. Memory: one
// record, and 20 bytes for each record of a part or of the training split. A subset becomes one
// part. Throws Error(invalid_argument) if a split or a record lacks a needed field, or a merge is
// changing the data set (it is locked like the sources of a merge); and errors of reading and
// writing. Blocks.
ConvertSummary write_v1(const std::vector<Dataset>& splits,
                        const std::filesystem::path& destination, const V1Options& options);

// Estimates the result of write_v1() with these options, from the numbers of records and some
// hundred payloads of each split. Writes nothing; throws like write_v1().
ConvertEstimate estimate_v1(const std::vector<Dataset>& splits, const V1Options& options);

}  // namespace ffkit
