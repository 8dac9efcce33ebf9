#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include <ffkit/converter/convert.h>

#include "input/grouped_source.h"
#include "pack/packer.h"
#include "plan/chosen_source.h"
#include "plan/part_range.h"
#include "plan/split_plan.h"

namespace ffkit {
namespace {

constexpr size_t kTriedSamples = 512;

class NullSink : public PackSink {
 public:
  void begin(int64_t) override {}
  void append(int64_t, EncodedSample&) override {}
  void end() override {}
};

// By its first samples.
double seconds_of(const Source& source, const SplitPlan& plan, const ConvertOptions& options) {
  const auto begin =
      static_cast<size_t>(plan.first[static_cast<size_t>(plan.begin_shard - plan.base)]);
  const size_t num_tried = std::min(kTriedSamples, static_cast<size_t>(plan.num_samples()));
  const PackUnit some{.samples = std::span(plan.order).subspan(begin, num_tried)};
  NullSink sink;
  const auto start = std::chrono::steady_clock::now();
  pack_samples(source, plan.split, std::span(&some, 1), options, plan.compression, sink);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return seconds.count() * static_cast<double>(plan.num_samples()) / static_cast<double>(num_tried);
}

// By the first group of the part that has samples: the others are as it is, byte by byte.
void estimate_groups(const GroupedSource& source, const SplitPlan& files,
                     const ConvertOptions& options, ConvertEstimate& estimate) {
  SplitEstimate split{.split = files.manifest.split};
  for (int64_t group = files.begin_shard; group < files.end_shard; ++group) {
    const auto start = std::chrono::steady_clock::now();
    const std::unique_ptr<Source> samples = source.open_group(files.split, files.samples(group));
    if (!samples) continue;
    const SplitPlan plan = plan_group(*samples, files, group, options);
    const std::chrono::duration<double> opening = std::chrono::steady_clock::now() - start;
    const double share = static_cast<double>(files.estimated_bytes()) /
                         static_cast<double>(std::max<int64_t>(files.bytes_of(group), 1));
    const auto whole = [share](int64_t of_group) {
      return std::llround(share * static_cast<double>(of_group));
    };
    split.num_samples = whole(plan.num_samples());
    split.num_shards = whole(plan.num_shards());
    split.file_bytes = whole(plan.estimated_bytes());
    estimate.seconds += share * (opening.count() + seconds_of(*samples, plan, options));
    if (options.note) {
      options.note(fmt::format(
          "{}: the numbers are those of one group of files, {:.2g} % of the bytes, for the whole",
          files.manifest.split, 100 / share));
    }
    break;
  }
  estimate.splits.push_back(std::move(split));
}

}  // namespace

ConvertEstimate estimate_conversion(const Source& source, const ConvertOptions& options) {
  validate(options);
  const std::unique_ptr<Source> chosen = choose_samples(source, options);
  const Source& taken = chosen ? *chosen : source;
  note_found_part(options);
  ConvertEstimate estimate;
  ConvertOptions trial = options;
  trial.progress = {};
  if (trial.on_error == OnError::fail) trial.on_error = OnError::skip;  // found when it is done
  for (const SplitPlan& plan : plan_splits(taken, options)) {
    if (plan.is_of_files) {
      estimate_groups(*as_grouped(taken), plan, trial, estimate);
      continue;
    }
    estimate.splits.push_back({.split = plan.manifest.split,
                               .num_samples = plan.num_samples(),
                               .num_shards = plan.end_shard - plan.begin_shard,
                               .file_bytes = plan.estimated_bytes()});
    estimate.seconds += seconds_of(taken, plan, trial);
  }
  return estimate;
}

}  // namespace ffkit
