#include "plan/split_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include <ffkit/base/option_names.h>
#include <ffkit/base/version.h>
#include <ffkit/format/dataset_writer.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "format/dataset/manifest_text.h"
#include "input/cancel.h"
#include "input/grouped_source.h"
#include "input/splitmix.h"
#include "plan/plan_fingerprint.h"

namespace ffkit {
namespace {

constexpr const char* kCreatedBy = "ffconvert " FFKIT_VERSION;
constexpr size_t kProbedSamples = 32;
constexpr double kPageBytes = 4096;

// In the shard. Longer records begin on a page; shorter ones do not cross its end, which leaves
// half of one empty on average. Index and columns take about kIndexBytes.
double shard_bytes_of(double record_bytes) {
  constexpr double kIndexBytes = 48;
  if (record_bytes >= kPageBytes) {
    return std::ceil(record_bytes / kPageBytes) * kPageBytes + kIndexBytes;
  }
  return record_bytes / (1 - record_bytes / (2 * kPageBytes)) + kIndexBytes;
}

// How large records become, told from the split's first ones.
class SizeEstimate {
 public:
  SizeEstimate(const Source& source, const SplitPlan& plan, const ConvertOptions& options)
      : source_(source), split_(plan.split) {
    SampleEncoder encoder(source.split_schema(plan.split), plan.compression, BadSamples::skip,
                          options.seed);
    EncodedSample encoded;
    double source_bytes = 0;
    double record_bytes = 0;
    double num_records = 0;
    for (size_t i = 0; i < std::min(kProbedSamples, plan.order.size()); ++i) {
      throw_if_cancelled(options.cancel);
      encoder.encode(fields_of(source, plan.split, plan.order[i]), encoded);
      if (encoded.error) continue;  // named when it is packed
      num_records += 1;
      record_bytes += static_cast<double>(encoded.stored.bytes.size());
      source_bytes += static_cast<double>(source.sample_bytes(plan.split, plan.order[i]));
    }
    if (num_records > 0) mean_ = record_bytes / num_records;
    if (source_bytes > 0) ratio_ = record_bytes / source_bytes;
  }

  double of(int64_t sample) const {
    const auto num_bytes = static_cast<double>(source_.sample_bytes(split_, sample));
    return shard_bytes_of(num_bytes > 0 ? num_bytes * ratio_ : mean_);
  }

 private:
  const Source& source_;
  const size_t split_;
  double mean_ = kPageBytes;
  double ratio_ = 1;
};

// The numbers of records up to the end of each shard, where the source gives its shards.
std::vector<int64_t> given_shard_ends(const Source& source, size_t split) {
  std::vector<int64_t> ends;
  const Manifest* given = source.manifest(split);
  if (given == nullptr) return ends;
  for (const ManifestShard& shard : given->shards) {
    if (shard.num_records > 0) ends.push_back((ends.empty() ? 0 : ends.back()) + shard.num_records);
  }
  return ends;
}

void note_compression(Manifest& manifest, const ConvertOptions& options) {
  if (options.zstd_level == 0) return;
  manifest.options["zstd_level"] = std::to_string(options.zstd_level);
  manifest.options["zstd_dictionary_bytes"] = std::to_string(options.zstd_dictionary_bytes);
}

// Facts and options say where a data set comes from: a path that is no UTF-8 text is told as far as
// a manifest can hold it, and an address without the mark of its options.
void make_utf8(std::map<std::string, std::string>& words) {
  for (auto& [key, value] : words) value = utf8_of(without_marks(value));
}

// The source's, of which all but the shards and their compression is taken over.
Manifest taken_over(Manifest manifest, const ConvertOptions& options) {
  manifest.shards.clear();
  manifest.options.erase("zstd_level");
  manifest.options.erase("zstd_dictionary_bytes");
  manifest.options.insert({"shard_bytes", std::to_string(options.shard_bytes)});
  manifest.created_by = kCreatedBy;
  note_compression(manifest, options);
  return manifest;
}

Manifest make_manifest(const Source& source, size_t split, const ConvertOptions& options) {
  if (const Manifest* given = source.manifest(split)) return taken_over(*given, options);
  Manifest manifest{.split = source.splits()[split].name,
                    .schema = source.split_schema(split),
                    .classes = source.classes(),
                    .class_names = source.class_names(),
                    .class_ids = source.class_ids(),
                    .source = source.facts(split),
                    .options = {{"order", std::string(to_string(options.order))},
                                {"seed", std::to_string(options.seed)},
                                {"shard_bytes", std::to_string(options.shard_bytes)}},
                    .created_by = kCreatedBy};
  note_compression(manifest, options);
  if (source.has_record_references()) manifest.options[kReferences] = "by number";
  manifest.options.merge(source.options());
  make_utf8(manifest.options);
  make_utf8(manifest.source);
  return manifest;
}

// The names become folders of the destination, whoever made them up.
void require_split_names(const Source& source) {
  std::set<std::string> names;
  for (const SourceSplit& split : source.splits()) {
    std::string fault = fault_of_split_name(split.name);
    if (!names.insert(split.name).second) fault = "is also the name of another split";
    if (fault.empty()) continue;
    throw error_of(
        ErrorCode::invalid_argument,
        "the split '{}' cannot have a folder, because its name {}; rename the split in the source",
        split.name, fault);
  }
}

// Classes are data: unlike a path, no other text may stand for one.
void require_class_names(const Source& source) {
  for (const std::vector<std::string>* names : {&source.classes(), &source.class_names()}) {
    for (const std::string& name : *names) {
      if (is_utf8(name)) continue;
      throw error_of(
          ErrorCode::invalid_argument,
          "the class '{}' has a name that is not UTF-8 text; rename the class in the source",
          printable(name));
    }
  }
}

constexpr size_t kMaxTrainingRecords = 1000;
constexpr int64_t kMaxTrainingBytes = 256LL << 20;  // zstd wants them in one piece, beside our own

std::vector<std::vector<std::byte>> first_records(const Source& source, size_t split,
                                                  const ConvertOptions& options) {
  const int64_t enough = std::min(100 * options.zstd_dictionary_bytes, kMaxTrainingBytes);
  SampleEncoder encoder(source.split_schema(split), {}, BadSamples::skip, options.seed);
  EncodedSample encoded;
  std::vector<std::vector<std::byte>> records;
  int64_t num_bytes = 0;
  for (const int64_t sample : record_order(source.splits()[split], options)) {
    if (records.size() == kMaxTrainingRecords || num_bytes >= enough) break;
    throw_if_cancelled(options.cancel);
    encoder.encode(fields_of(source, split, sample), encoded);
    if (!encoded.error) {
      num_bytes += static_cast<int64_t>(encoded.record.size());
      records.push_back(encoded.record);
    } else if (options.bad_samples == BadSamples::fail) {
      throw Error(*encoded.error);
    }  // else packing will name it
  }
  return records;
}

void cut_into_groups(const GroupedSource& source, const ConvertOptions& options, SplitPlan& plan) {
  const GroupSize size(options);
  plan.first = {0};
  int64_t num_bytes = 0;
  for (int64_t i = 0; i < std::ssize(plan.order); ++i) {
    num_bytes += source.sample_bytes(plan.split, plan.order[static_cast<size_t>(i)]);
    const bool is_last = i + 1 == std::ssize(plan.order);
    if (!is_last && !size.is_full(i + 1 - plan.first.back(), num_bytes)) continue;
    plan.first.push_back(i + 1);
    plan.shard_bytes.push_back(num_bytes);
    num_bytes = 0;
  }
}

// Trained on the first group of the split that has samples.
CompressionOptions compression_of(const GroupedSource& source, const SplitPlan& plan,
                                  const ConvertOptions& options) {
  CompressionOptions compression{.level = options.zstd_level};
  if (options.zstd_dictionary_bytes == 0) return compression;
  for (int64_t group = 0; group < plan.num_shards(); ++group) {
    throw_if_cancelled(options.cancel);
    const auto samples = source.open_group(plan.split, plan.samples(group));
    if (samples) return split_compression(*samples, 0, options);
  }
  return compression;
}

// The same permutation of each group would be one that is seen.
ConvertOptions options_of_group(const ConvertOptions& options, int64_t group) {
  ConvertOptions of_group = options;
  SplitMix random(options.seed ^ (static_cast<uint64_t>(group) + 1) * 0x9E3779B97F4A7C15U);
  of_group.seed = random.next();
  return of_group;
}

}  // namespace

void cut_into_shards(const Source& source, const ConvertOptions& options, bool are_even,
                     SplitPlan& plan) {
  const SizeEstimate estimate(source, plan, options);
  const std::vector<int64_t> ends = given_shard_ends(source, plan.split);
  auto full = static_cast<double>(options.shard_bytes);
  if (are_even) {
    double all = 0;
    for (const int64_t sample : plan.order) all += estimate.of(sample);
    full = all / std::max(1.0, std::round(all / full));
  }
  plan.first = {0};
  double num_bytes = 0;
  for (size_t i = 0; i < plan.order.size(); ++i) {
    num_bytes += estimate.of(plan.order[i]);
    const bool is_full = ends.empty()
                             ? num_bytes >= full
                             : ends.at(plan.shard_bytes.size()) == static_cast<int64_t>(i) + 1;
    if (!is_full && i + 1 < plan.order.size()) continue;
    plan.first.push_back(static_cast<int64_t>(i) + 1);
    plan.shard_bytes.push_back(static_cast<int64_t>(num_bytes));
    num_bytes = 0;
  }
}

Manifest planned_manifest(const Source& source, size_t split, const ConvertOptions& options,
                          const CompressionOptions& compression) {
  Manifest manifest = make_manifest(source, split, options);
  if (options.zstd_level != 0 && compression.dictionary.empty()) {
    manifest.options["zstd_dictionary_bytes"] = "0";
  }
  return manifest;
}

std::span<const int64_t> SplitPlan::samples(int64_t shard) const {
  const auto begin = static_cast<size_t>(first.at(static_cast<size_t>(shard - base)));
  const auto end = static_cast<size_t>(first.at(static_cast<size_t>(shard - base) + 1));
  return std::span(order).subspan(begin, end - begin);
}

std::array<uint8_t, 16> SplitPlan::uuid(int64_t shard) const {
  return shard_uuid(manifest, shard);
}

int64_t SplitPlan::bytes_of(int64_t shard) const {
  return shard_bytes.at(static_cast<size_t>(shard - base));
}

Manifest SplitPlan::finished(std::vector<ManifestShard> shards,
                             const ConvertOptions& options) const {
  Manifest finished = manifest;
  finished.shards = std::move(shards);
  finished.source[kListing] = describe_split(*this);
  const Attribution& given = options.attribution;
  for (const auto& [key, text] :
       {std::pair("license", given.license), std::pair("data_source", given.source),
        std::pair("note", given.note)}) {
    if (!text.empty()) finished.source[key] = utf8_of(text);
  }
  if (options.part.count > 1) {
    const PartRange range{.part = options.part,
                          .begin_shard = begin_shard,
                          .end_shard = end_shard,
                          .num_shards = num_shards(),
                          .are_groups = is_of_files};
    finished.options[kPart] = range.text();
    finished.options[kPartPlan] = shared_plan;
    finished.options[kPartBadSamples] = describe_bad_samples(options);
  }
  return finished;
}

std::vector<PackUnit> SplitPlan::units() const {
  std::vector<PackUnit> units;
  for (int64_t shard = begin_shard; shard < end_shard; ++shard) {
    units.push_back({.number = shard, .samples = samples(shard)});
  }
  return units;
}

int64_t SplitPlan::num_samples() const {
  return first[static_cast<size_t>(end_shard - base)] -
         first[static_cast<size_t>(begin_shard - base)];
}

int64_t SplitPlan::estimated_bytes() const {
  return std::accumulate(shard_bytes.begin() + (begin_shard - base),
                         shard_bytes.begin() + (end_shard - base), int64_t{0});
}

void SplitPlan::take_part(const ConvertPart& part) {
  begin_shard = num_shards() * (part.index - 1) / part.count;
  end_shard = num_shards() * part.index / part.count;
}

std::vector<int64_t> record_order(const SourceSplit& split, const ConvertOptions& options) {
  std::vector<int64_t> order(static_cast<size_t>(split.num_samples));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (options.order == Order::sequential || !split.is_training) return order;
  // Fisher-Yates from the end (Knuth, TAOCP vol. 2, algorithm 3.4.2P); README.md, "Shuffle".
  SplitMix random(options.seed);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  return order;
}

std::vector<SplitPlan> plan_samples(const Source& source, size_t first_split,
                                    const ConvertOptions& options) {
  std::vector<SplitPlan> plans;
  for (size_t split = first_split; split < source.splits().size(); ++split) {
    const CompressionOptions compression = split_compression(source, split, options);
    SplitPlan plan{.split = split,
                   .manifest = planned_manifest(source, split, options, compression),
                   .compression = compression,
                   .order = record_order(source.splits()[split], options)};
    plan.listing = list_samples(source, split, plan.order);
    cut_into_shards(source, options, /*are_even=*/false, plan);
    plan.take_part(options.part);
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<SplitPlan> plan_all_splits(const Source& source, const ConvertOptions& options) {
  require_split_names(source);
  require_class_names(source);
  const ConvertPart part = options.part;
  std::vector<SplitPlan> plans = plan_groups(source, options);
  std::ranges::move(plan_samples(source, plans.size(), options), std::back_inserter(plans));
  const std::string shared_plan = part.count > 1 ? plan_fingerprint(plans) : "";
  for (SplitPlan& plan : plans) plan.shared_plan = shared_plan;
  return plans;
}

std::optional<Error> keep_plans_with_shards(std::vector<SplitPlan>& plans,
                                            const ConvertPart& part) {
  int64_t most_shards = 0;
  bool are_groups = false;
  for (const SplitPlan& plan : plans) {
    most_shards = std::max(most_shards, plan.num_shards());
    are_groups = are_groups || plan.is_of_files;
  }
  std::erase_if(plans, [](const SplitPlan& plan) { return plan.begin_shard == plan.end_shard; });
  if (!plans.empty()) return std::nullopt;
  return error_of(ErrorCode::invalid_argument,
                  "part {}/{} has nothing to do, because no split has more than {} {}{}",
                  part.index, part.count, most_shards, are_groups ? "group" : "shard",
                  most_shards == 1 ? "" : "s")
      .with_remedy(are_groups ? "use fewer parts, or groups of fewer files"
                              : "use fewer parts, or a smaller shard size");
}

std::vector<SplitPlan> plan_splits(const Source& source, const ConvertOptions& options) {
  std::vector<SplitPlan> plans = plan_all_splits(source, options);
  if (const std::optional<Error> nothing = keep_plans_with_shards(plans, options.part)) {
    throw Error(*nothing);
  }
  return plans;
}

SampleListing list_samples(const Source& source, size_t split, std::span<const int64_t> order) {
  PlanHash names;
  PlanHash sizes;
  PlanHash contents;
  PlanHash times;
  for (const int64_t sample : order) {
    const SampleIdentity identity = source.identity(split, sample);
    names.add(identity.name);
    sizes.add(static_cast<uint64_t>(identity.num_bytes));
    contents.add(identity.content);
    times.add(identity.modified);
  }
  return {.names = names.digits(),
          .sizes = sizes.digits(),
          .contents = contents.digits(),
          .times = times.digits(),
          .inputs = source.inputs(split)};
}

CompressionOptions split_compression(const Source& source, size_t split,
                                     const ConvertOptions& options) {
  validate(options);
  CompressionOptions compression{.level = options.zstd_level};
  if (options.zstd_dictionary_bytes == 0) return compression;
  const std::vector<std::vector<std::byte>> records = first_records(source, split, options);
  try {
    compression.dictionary = train_dictionary(records, options.zstd_dictionary_bytes);
  } catch (const Error& error) {
    // Few records, or such as do not resemble each other: a dictionary is a means, not what was
    // asked for.
    if (options.note) {
      options.note(fmt::format("split '{}' is compressed without a dictionary: {}",
                               source.splits()[split].name, error.what()));
    }
  }
  return compression;
}

const GroupedSource* as_grouped(const Source& source) {
  return dynamic_cast<const GroupedSource*>(&source);
}

std::vector<SplitPlan> plan_groups(const Source& source, const ConvertOptions& options) {
  std::vector<SplitPlan> plans;
  const GroupedSource* const grouped = as_grouped(source);
  if (grouped == nullptr) {
    if (!options.by_files) return plans;
    throw argument_error("by_files", fmt::format("{}: this source cannot be converted by groups of "
                                                 "files; leave the option out",
                                                 option_name("by_files")));
  }
  for (size_t split = 0; split < grouped->num_splits_of_files(); ++split) {
    SplitPlan plan{.split = split,
                   .order = record_order(source.splits()[split], options),
                   .is_of_files = true};
    cut_into_groups(*grouped, options, plan);
    plan.compression = compression_of(*grouped, plan, options);
    plan.manifest = planned_manifest(source, split, options, plan.compression);
    plan.manifest.options["by_files"] = by_files_text(options.by_files.value_or(0));
    plan.listing = list_samples(source, split, plan.order);
    plan.take_part(options.part);
    plans.push_back(std::move(plan));
  }
  return plans;
}

SplitPlan plan_group(const Source& source, const SplitPlan& files, int64_t group,
                     const ConvertOptions& options) {
  SplitPlan plan{.manifest = files.manifest,
                 .compression = files.compression,
                 .order = record_order(source.splits().at(0), options_of_group(options, group)),
                 .base = group * kShardsOfGroup};
  plan.listing = list_samples(source, 0, plan.order);
  cut_into_shards(source, options, /*are_even=*/true, plan);
  if (plan.num_shards() > kShardsOfGroup) {
    throw error_of(
        ErrorCode::unsupported,
        "a group of {} files would have {} shards, but at most {} are allowed; make smaller "
        "groups with {}, or use larger shards",
        files.samples(group).size(), plan.num_shards(), kShardsOfGroup, option_name("by_files"));
  }
  plan.begin_shard = plan.base;
  plan.end_shard = plan.base + plan.num_shards();
  return plan;
}

}  // namespace ffkit
