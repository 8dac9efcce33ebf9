// What the loader computes per sample outside of decoding: the order of the records, where they
// lie, and random numbers.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/image/random.h>
#include <ffkit/loader/permutation.h>
#include <ffkit/loader/sampler.h>

#include "loader/io/read_plan.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace {

using namespace ffkit;

constexpr int64_t kBatch = 256;

// One index that the next one waits for.
void permutation_latency(benchmark::State& state) {
  const Permutation permutation(state.range(0), 42);
  int64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(i = permutation(i));
}

// Indices in a row, as the sampler computes them.
void permutation(benchmark::State& state) {
  const Permutation permutation(state.range(0), 42);
  int64_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(permutation(i));
    if (++i == state.range(0)) i = 0;
  }
}

void counter_random(benchmark::State& state) {
  int64_t record = 0;
  for (auto _ : state) {
    CounterRandom random({7, 3, ++record});
    benchmark::DoNotOptimize(random.uniform());
  }
}

void sampler_batch(benchmark::State& state, const SamplerOptions& options) {
  const Sampler sampler(1281167, kBatch, options);
  std::vector<int64_t> batch;
  int64_t step = 0;
  for (auto _ : state) {
    sampler.batch(0, 0, step, batch);
    benchmark::DoNotOptimize(batch.data());
    if (++step == sampler.num_batches()) step = 0;
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

// A data set of small pictures and random batches of its records.
class RandomBatches {
 public:
  RandomBatches() {
    std::mt19937_64 random(1);
    for (auto& batch : batches_) {
      for (int64_t i = 0; i < kBatch; ++i) {
        batch.push_back(static_cast<int64_t>(random() % kNumRecords));
      }
    }
    for (int64_t i = 0; i < static_cast<int64_t>(kNumRecords); ++i)
      static_cast<void>(dataset_.locate(i));
  }
  const Dataset& dataset() const { return dataset_; }
  const std::vector<int64_t>& next() { return batches_[++step_ % 64]; }

 private:
  static constexpr uint64_t kNumRecords = 20000;
  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(
      dir_ / "train", {.num_records = kNumRecords, .num_shards = 16, .width = 8, .height = 8});
  std::vector<int64_t> batches_[64];
  size_t step_ = 0;
};

RandomBatches& random_batches() {
  static RandomBatches batches;
  return batches;
}

void locate(benchmark::State& state) {
  RandomBatches& batches = random_batches();
  for (auto _ : state) {
    for (int64_t record : batches.next()) {
      benchmark::DoNotOptimize(batches.dataset().locate(record).record.offset);
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

// What a batch in random order pays for the search for neighbours, locate() included. Merging is
// left out by a limit of 1 byte.
void plan(benchmark::State& state) {
  RandomBatches& batches = random_batches();
  ReadPlan plan;
  for (auto _ : state) {
    plan_reads(batches.dataset(), batches.next(), 1, state.range(0), plan);
    benchmark::DoNotOptimize(plan.reads.data());
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void register_benchmarks() {
  for (auto* run : {permutation, permutation_latency}) {
    benchmark::RegisterBenchmark(run == permutation ? "permutation" : "permutation_latency", run)
        ->Arg(1'000'000)
        ->Arg(1'281'167)
        ->Arg((int64_t{1} << 30) + 1)
        ->Arg(int64_t{1} << 60);
  }
  benchmark::RegisterBenchmark("counter_random", counter_random);
  benchmark::RegisterBenchmark("sampler/shuffle", sampler_batch, SamplerOptions{});
  benchmark::RegisterBenchmark("locate", locate);
  benchmark::RegisterBenchmark("plan", plan)->Arg(1)->Arg(512 << 10);
}

}  // namespace

int main(int argc, char** argv) {
  register_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "loader_micro_bench: error: %s\n", e.what());
    return 1;
  }
}
