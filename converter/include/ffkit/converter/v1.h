// FFRecord v1 (FORMAT.md, "Version 1"): data sets written as files of the predecessor. Reading them
// is Dataset::open's business, and open_datasets() in sources/transcode.h is the Source to convert
// them from.
//
//   DST/<split>.ffr/  PART_00000.ffr, PART_00001.ffr ..., by V1Writer
//   DST/meta.pkl      of ImageNet's payload: the classes, and the labels of the training split
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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
std::string_view to_string(V1Content content);
// Inverse of the names "auto", "raw" and "imagenet"; throws Error(invalid_argument).
V1Content parse_v1_content(std::string_view name);

struct V1Options {
  V1Content content = V1Content::automatic;
  // whose bytes are written; empty: the first image field, or for raw the first of type image or
  // bytes
  std::string field;
  // A part is closed once the data set's records in it have this many bytes; 0: one part a shard.
  int64_t shard_bytes = 0;
  // The longest record as it is written. A longer one is an Error(unsupported), because readers
  // refuse it unless they are told otherwise.
  int64_t max_record_bytes = ShardReaderOptions{}.max_record_bytes;
  // As in ConvertOptions.
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const ConvertProgress&)> progress;
  std::function<void(const std::string&)> note;
  // The shell command that finishes the data set after this call has ended early. Readers of the
  // folder are told. Empty: not known.
  std::string command;
};

// Declares `payload`, `field` and the options of a conversion, which keeps the order of SRC unless
// another one is given; both must outlive `table`.
void describe(V1Options& options, ConvertOptions& conversion, OptionTable& table);
// Whether all of `splits`, which were opened at `path`, are of FFRecord v1: then they are to be
// read. Throws Error(invalid_argument) when only some are.
bool are_v1(const std::vector<Dataset>& splits, const std::filesystem::path& path);
// Sets what a conversion has, too, and shard_bytes if that was given. Throws
// Error(invalid_argument) for given options that FFRecord v1 has no use for.
void take_over(V1Options& options, const ConvertOptions& conversion, const OptionTable& table);

// Writes `splits`, which must have different names, into `destination`, as convert() does: all or
// nothing, the folder new or empty, refused by readers until it is whole. Holds one record and 20
// bytes for each record of a part or of the training split in memory. A subset is written as one
// part. Throws Error(invalid_argument) when a split lacks a field that is needed, or one of its
// records has none, or a merge is about to change the data set (it is locked as merges lock their
// sources), and what reading and writing throw. Blocks.
ConvertSummary write_v1(const std::vector<Dataset>& splits,
                        const std::filesystem::path& destination, const V1Options& options);

// What write_v1() would write with these options, told from the records' numbers and from making
// some hundred payloads of each split. Writes nothing; throws as write_v1() does.
ConvertEstimate estimate_v1(const std::vector<Dataset>& splits, const V1Options& options);

}  // namespace ffkit
