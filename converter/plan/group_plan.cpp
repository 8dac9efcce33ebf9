#include <fmt/format.h>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "input/cancel.h"
#include "input/grouped_source.h"
#include "input/splitmix.h"
#include "plan/split_plan.h"

namespace ffkit {
namespace {

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

const GroupedSource* as_grouped(const Source& source) {
  return dynamic_cast<const GroupedSource*>(&source);
}

std::vector<SplitPlan> plan_groups(const Source& source, const ConvertOptions& options) {
  std::vector<SplitPlan> plans;
  const GroupedSource* const grouped = as_grouped(source);
  if (grouped == nullptr) {
    if (!options.by_files) return plans;
    throw argument_error("by_files", fmt::format("{}: this source does not list files that can be "
                                                 "converted group by group; leave it out",
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
    plan.listing.samples.clear();  // they are files
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
        "a group of {} files would have {} shards, and may have {}; give fewer files to a "
        "group with {}, or take larger shards",
        files.samples(group).size(), plan.num_shards(), kShardsOfGroup, option_name("by_files"));
  }
  plan.begin_shard = plan.base;
  plan.end_shard = plan.base + plan.num_shards();
  return plan;
}

}  // namespace ffkit
