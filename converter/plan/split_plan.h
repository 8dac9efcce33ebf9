// SplitPlan: what a split will be, fixed before its first record is written: the order of its
// samples, how they are compressed, and which shard holds which. A pure function of source and
// options, so that shards can be made on several machines, or some of them later.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/compression.h>
#include <ffkit/base/error.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/manifest.h>

#include "base/fnv.h"
#include "pack/packer.h"

namespace ffkit {

// SampleListing: what a source has listed of a split, as a few hashes. Whoever lists the same data
// with the same options gets the same ones, on any machine and below any folder, but for times of
// modification.

// FNV-1a over numbers and texts, one after the other; each text with its length, so that two texts
// are not taken for another two.
class PlanHash {
 public:
  void add(uint64_t number) { hash_ = fnv1a64(std::as_bytes(std::span(&number, 1)), hash_); }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    hash_ = fnv1a64(bytes, hash_);
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  uint64_t value() const { return hash_; }
  // 16 hex digits.
  std::string digits() const { return fmt::format("{:016x}", hash_); }

 private:
  uint64_t hash_ = kFnvBasis;
};

struct SampleListing {
  // Of all samples in record order, 16 hex digits each.
  std::string names;
  std::string sizes;
  std::string contents;
  std::string times;  // of modification
  // Files beside the samples' own.
  std::vector<SourceInput> inputs;
};

// Asks the source for the identity of each sample, once: for a million files that is a million
// texts.
SampleListing list_samples(const Source& source, size_t split, std::span<const int64_t> order);

class GroupedSource;

// The order in which the samples of a split are written: the identity, or under
// Order::shuffle and a training split the permutation specified in converter/README.md. A
// pure function of its arguments.
std::vector<int64_t> record_order(const SourceSplit& split, const ConvertOptions& options);

// What the records of `split` are to be compressed with: the level, and the dictionary, trained on
// the split's first records in record order: 1,000, or as many as have 100 times the dictionary's
// bytes (and at most 256 MiB). The same for any number of threads. Without a dictionary, and with a
// note, where none can be trained: of few records, or of such as do not resemble each other. Throws
// the Error of the first bad sample under BadSamples::fail.
CompressionOptions split_compression(const Source& source, size_t split,
                                     const ConvertOptions& options);

struct SplitPlan {
  size_t split = 0;   // of the source
  Manifest manifest;  // without shards
  CompressionOptions compression;
  std::vector<int64_t> order;  // samples in record order
  SampleListing listing;       // of these samples
  // Shard base + k holds order[first[k]] .. order[first[k+1]-1].
  std::vector<int64_t> first;
  std::vector<int64_t> shard_bytes;  // estimated
  int64_t base = 0;
  // Samples are files, and shards are groups of them (plan_group()).
  bool is_of_files = false;
  // Shards to be made: all, or those of ConvertOptions::part.
  int64_t begin_shard = 0;
  int64_t end_shard = 0;
  // plan_fingerprint() of all splits, those without shards in this part included; empty unless the
  // conversion is shared.
  std::string shared_plan;

  // Sets begin_shard and end_shard.
  void take_part(const ConvertPart& part);
  int64_t num_shards() const { return static_cast<int64_t>(first.size()) - 1; }
  std::span<const int64_t> samples(int64_t shard) const;
  std::array<uint8_t, 16> uuid(int64_t shard) const;
  int64_t bytes_of(int64_t shard) const;
  // What the split's manifest says when `shards` are written: `manifest`, what the source listed
  // (kListing), what the user says of the data, and which part of the conversion it is. uuids are
  // made without these: the shards are those that one machine would make, from any copy of the
  // source.
  Manifest finished(std::vector<ManifestShard> shards, const ConvertOptions& options) const;
  // Of the shards to be made.
  std::vector<PackUnit> units() const;
  int64_t num_samples() const;
  int64_t estimated_bytes() const;
};

// The split's manifest, without shards. `compression`: that of the plan.
Manifest planned_manifest(const Source& source, size_t split, const ConvertOptions& options,
                          const CompressionOptions& compression);
// Which samples of plan.order are in which shard. `are_even`: all shards of about the same size,
// so that none is left over, of source data that give no shards.
void cut_into_shards(const Source& source, const ConvertOptions& options, bool are_even,
                     SplitPlan& plan);
// Of the splits from number `first_split` on, the samples of which the source lists.
std::vector<SplitPlan> plan_samples(const Source& source, size_t first_split,
                                    const ConvertOptions& options);

// The plans of all splits; one may have no shards in options.part. Those of a GroupedSource are of
// files (plan_group()), and what is said here is then so of each group. A shard ends when it is
// estimated to hold options.shard_bytes; the estimate is made from the samples' sizes and from
// encoding the split's first records. Reads those, and those that a dictionary is trained on.
// Throws as split_compression() does.
std::vector<SplitPlan> plan_all_splits(const Source& source, const ConvertOptions& options);
// Leaves the plans that have shards. Where there is none, returns an Error(invalid_argument) that
// says so.
std::optional<Error> keep_plans_with_shards(std::vector<SplitPlan>& plans, const ConvertPart& part);
// Both; throws Error(invalid_argument) when there is no shard for options.part.
std::vector<SplitPlan> plan_splits(const Source& source, const ConvertOptions& options);

// Plans of a GroupedSource: one of files, which is all that is in memory, and one of the samples of
// a group while that is open.
//
//   files, shuffled ──▶ groups ─────▶ parts of a conversion: which groups one has
//                          └── a group's samples, shuffled ──▶ shards, numbered from the group's
//                              own first number on
//
// Each group's shards are a function of the group and the options alone: so a group can be made at
// any time, on any machine.

// Numbers of shards that each group has: those of group g begin at g times this.
inline constexpr int64_t kShardsOfGroup = 100'000;

// `source` as a GroupedSource; null where it is another one.
const GroupedSource* as_grouped(const Source& source);

// Of the splits of files: SplitPlan::is_of_files. Nothing for a source
// that is no GroupedSource. Opens a group only where a dictionary is to be trained.
std::vector<SplitPlan> plan_groups(const Source& source, const ConvertOptions& options);

// Of the samples of group number `group` of `files`, all of which `source` has in its only split.
// Throws Error(unsupported) for a group of more shards than kShardsOfGroup.
SplitPlan plan_group(const Source& source, const SplitPlan& files, int64_t group,
                     const ConvertOptions& options);

}  // namespace ffkit
