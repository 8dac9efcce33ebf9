#include <algorithm>
#include <chrono>
#include <memory>

#include <ffkit/converter/convert.h>

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
    estimate.splits.push_back({.split = plan.manifest.split,
                               .num_samples = plan.num_samples(),
                               .num_shards = plan.end_shard - plan.begin_shard,
                               .file_bytes = plan.estimated_bytes()});
    const auto begin = static_cast<size_t>(plan.first[static_cast<size_t>(plan.begin_shard)]);
    const size_t num_tried = std::min(kTriedSamples, static_cast<size_t>(plan.num_samples()));
    const PackUnit some{.samples = std::span(plan.order).subspan(begin, num_tried)};
    NullSink sink;
    const auto start = std::chrono::steady_clock::now();
    pack_samples(taken, plan.split, std::span(&some, 1), trial, plan.compression, sink);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    estimate.seconds +=
        seconds.count() * static_cast<double>(plan.num_samples()) / static_cast<double>(num_tried);
  }
  return estimate;
}

}  // namespace ffkit
