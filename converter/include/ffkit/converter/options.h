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

#include <ffkit/base/option_table.h>
#include <ffkit/base/samples.h>
#include <ffkit/format/shard_facts.h>

namespace ffkit {

// How archives are read whose records are written in another order.
enum class ReadMode {
  automatic,  // gather where a measurement finds scattered reads much slower, else direct
  direct,     // each sample where it lies when its turn comes: for SSDs and page caches
  // once, front to back, through files in the destination: for spinning disks and network file
  // systems. Needs twice the space
  gather,
};
std::string_view to_string(ReadMode mode);
// Inverse of to_string; throws Error(invalid_argument).
ReadMode parse_read_mode(std::string_view name);

// One of the machines that share a conversion: it makes part `index` (1 .. count) of each split's
// shards. merge_datasets() makes of all parts what one machine would have made.
struct ConvertPart {
  int64_t index = 1;
  int64_t count = 1;
  // Which variables of the environment have said so: "SLURM_ARRAY_TASK_ID"; empty: the caller has.
  std::string found_by = {};
};
// "2/8"; or "auto": what a job array of Slurm, srun, mpirun or torchrun say in the environment of
// this process. Throws Error(invalid_argument), also where they say nothing or contradict each
// other.
ConvertPart parse_part(std::string_view text);

// What a user says of the data, for the manifests: it is passed on by transcodes, copies and joins.
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
  // 0: one a processor this process may use; at most 1024. Does not change the output.
  int num_threads = 0;
  int64_t shard_bytes = 256LL << 20;  // a shard is closed once it holds this much; 1 MiB or more
  Order order = Order::shuffle;
  uint64_t seed = 0;  // of everything random: the shuffle, StoreAs::smart, made-up samples
  BadSamples bad_samples = BadSamples::fail;
  ReadMode read = ReadMode::automatic;  // does not change the output
  ConvertPart part;
  // Goes on with what an equal conversion has left in the destination, shard by shard; without it,
  // that is removed.
  bool resume = false;
  // 1 (fast) to 22 (small), -7 to -1 (faster still); 0: records are not compressed.
  int zstd_level = 0;
  // With zstd_level: size of the zstd dictionary that is trained on each split's first records,
  // 256 bytes to 16 MiB; 0: none.
  int64_t zstd_dictionary_bytes = 0;
  // Samples in memory; a sample larger than its share (this / (2 * threads)) still gets through,
  // alone in its batch.
  int64_t max_bytes_in_flight = 256LL << 20;
  // The longest record, before and after compression, >= 1. A sample with a longer one is a bad
  // sample, because readers refuse it (ShardReaderOptions has the same limit) unless they are told
  // otherwise.
  int64_t max_record_bytes = ShardReaderOptions{}.max_record_bytes;
  // Checked between samples; once true, the conversion ends with Error(cancelled). May be set by a
  // signal handler.
  const std::atomic<bool>* cancel = nullptr;
  // Called after every few samples; must be quick.
  std::function<void(const ConvertProgress&)> progress;
  // Called with one sentence the user should know.
  std::function<void(const std::string&)> note;
  // What finishes the data set when this call ends early, for a shell: whoever opens the folder is
  // told. Empty: not known.
  std::string command;
  // With `part`: the last part to end makes of all parts what one machine would have made, as
  // merge_datasets() does. All parts have the same destination then, also where it is a folder.
  bool merge_when_complete = false;
  // Of the samples, only those with these ids (the field `id` of their records) are converted: a
  // UTF-8 file with one id a line, also in a store; empty: all. Lines without text are passed over.
  std::filesystem::path only = {};
  // The same, without a file; one of the two.
  std::optional<std::vector<std::string>> only_ids = {};
  // Of sources of many files: lists the files alone, and opens them group by group, each with
  // shards of its own, so that memory is that of one group: of so many files, or, for 0, as many
  // as hold 128 MiB, or shard_bytes where that is less. Shuffles the files, and the samples of a
  // group among each other. Nothing: all samples are listed beforehand.
  std::optional<int64_t> by_files = {};
  Attribution attribution = {};
};

// "auto" (0) or a number of files from 1 on; throws Error(invalid_argument).
int64_t parse_by_files(std::string_view text);
// Inverse of parse_by_files().
std::string by_files_text(int64_t by_files);

// Declares what a user may set; `options` must outlive `table`.
void describe(ConvertOptions& options, OptionTable& table);
// Throws Error(invalid_argument) naming the first value that is out of range, or does not go with
// another.
void validate(const ConvertOptions& options);
// The same, and throws for what was given of `table`, over `options`, without what it needs.
void validate(const ConvertOptions& options, const OptionTable& table);

}  // namespace ffkit
