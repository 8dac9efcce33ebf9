// ConvertOptions: how a source is turned into shards. Plain values.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/base/samples.h>
#include <ffkit/format/shard_facts.h>

namespace ffkit {

// How archives are read whose records are written in another order.
enum class ReadMode {
  automatic,  // gather where a measurement finds scattered reads much slower, else direct
  direct,     // each sample where it lies when its turn comes: for SSDs and page caches
  // once from front to back, through files in the destination: for hard disks and network file
  // systems. Needs twice the space
  gather,
};
template <>
inline constexpr auto kNames<ReadMode> = enum_names<ReadMode>("read",
                                                              {{ReadMode::automatic, "auto"},
                                                               {ReadMode::direct, "direct"},
                                                               {ReadMode::gather, "gather"}});

// One of the machines that share a conversion: it makes part `index` (1 .. count) of each split's
// shards. merge_datasets() joins the parts; the result is that of one machine.
struct ConvertPart {
  int64_t index = 1;
  int64_t count = 1;
  // The environment variable that it comes from: "SLURM_ARRAY_TASK_ID"; empty: the caller.
  std::string found_by = {};
};
// "2/8"; or "auto": from the environment of a Slurm job array, srun, mpirun or torchrun. Throws
// Error(invalid_argument), also if the environment has no part or contradicts itself.
ConvertPart parse_part(std::string_view text);

// A user's facts about the data, for the manifests; transcodes, copies and joins keep them.
struct Attribution {
  std::string license = {};  // "CC BY 4.0"
  std::string source = {};   // where the data come from: an address, a paper, a person
  std::string note = {};
};

// How far the conversion of a split is. Sent from one thread at a time.
struct ConvertProgress {
  std::string split;
  int64_t num_samples = 0;  // of the split
  int64_t num_done = 0;     // written or skipped
  int64_t num_before = 0;   // of these, by an earlier run
  int64_t num_skipped = 0;
  int64_t bytes_done = 0;           // record bytes handed to the shards
  const char* records = "records";  // what they are: record_noun()
};

struct ConvertOptions {
  // 0: one per processor that this process may use; at most 1024. Does not change the output.
  int num_threads = 0;
  int64_t shard_bytes = 256LL << 20;  // a shard is closed once it holds this much; 1 MiB or more
  Order order = Order::shuffle;
  uint64_t seed = 0;  // of everything random: the shuffle, StoreAs::smart, made-up samples
  BadSamples bad_samples = BadSamples::fail;
  ReadMode read = ReadMode::automatic;  // does not change the output
  ConvertPart part;
  // Continues an interrupted, equal conversion in the destination; without it, its files are
  // removed.
  bool resume = false;
  // 1 (fast) to 22 (small), -7 to -1 (faster still); 0: records are not compressed.
  int zstd_level = 0;
  // With zstd_level: size of the zstd dictionary trained on the first records of each split, 256
  // bytes to 16 MiB; 0: none.
  int64_t zstd_dictionary_bytes = 0;
  // Limit of samples in memory. A sample larger than its share (this / (2 * threads)) is processed
  // alone.
  int64_t max_bytes_in_flight = 256LL << 20;
  // The longest record, before and after compression, >= 1. A longer one is a bad sample, because
  // readers refuse it by default (ShardReaderOptions has the same limit).
  int64_t max_record_bytes = ShardReaderOptions{}.max_record_bytes;
  // Checked between samples; once true, the conversion ends with Error(cancelled). May be set by a
  // signal handler.
  const std::atomic<bool>* cancel = nullptr;
  // Called after every few samples; must be quick.
  std::function<void(const ConvertProgress&)> progress;
  // Called with one sentence the user should know.
  std::function<void(const std::string&)> note;
  // The shell command that finishes the data set if this call ends early; readers of the folder see
  // it. Empty: not known.
  std::string command;
  // With `part`: the part that ends last joins all parts, like merge_datasets(). All parts must
  // have the same destination, also if it is a folder.
  bool merge_when_complete = false;
  // Converts only samples with these ids (the field `id` of their records): a UTF-8 file with one
  // id per line, also in a store; empty: all. Empty lines are ignored.
  std::filesystem::path only = {};
  // The same, without a file; one of the two.
  std::optional<std::vector<std::string>> only_ids = {};
  // For sources of many files: lists only the files, and opens them group by group, so memory is
  // needed for only one group. Each group has its own shards. A group has this many files, or for
  // 0, files of 128 MiB (or shard_bytes if that is less). Files are shuffled, and samples within a
  // group. Nothing: all samples are listed before.
  std::optional<int64_t> by_files = {};
  Attribution attribution = {};
};

// "auto" (0) or a number of files from 1 on; throws Error(invalid_argument).
int64_t parse_by_files(std::string_view text);
// Inverse of parse_by_files().
std::string by_files_text(int64_t by_files);

// Declares what a user may set; `options` must outlive `table`.
void describe(ConvertOptions& options, OptionTable& table);
// Throws Error(invalid_argument) that names the first value out of range or in conflict with
// another.
void validate(const ConvertOptions& options);
// The same, and throws if an option was given in `table`, over `options`, without another one that
// it needs.
void validate(const ConvertOptions& options, const OptionTable& table);

}  // namespace ffkit
