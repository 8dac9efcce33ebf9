// Deformable attention on the CPU against the same by grid_sample(), at the sizes that
// BEVFormer-tiny has in its three attentions.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "ops/deformable_attention.h"

namespace {

using namespace ffkit;

struct Size {
  int64_t batch, queries, points;
  std::vector<MapSize> levels;
};

constexpr int64_t kHeads = 8;
constexpr int64_t kDims = 32;

// 0: temporal self-attention, 1: a picture of each of six cameras, 2: the decoder.
const Size& size_of(int64_t index) {
  static const std::vector<Size> sizes = {
      {2, 2500, 4, {{50, 50}}}, {6, 590, 8, {{15, 25}}}, {1, 900, 4, {{50, 50}}}};
  return sizes[static_cast<size_t>(index)];
}

using Attend = at::Tensor (*)(const at::Tensor&, const std::vector<MapSize>&, const at::Tensor&,
                              const at::Tensor&);

void attend(benchmark::State& state, Attend attention, bool with_gradients) {
  at::set_num_threads(1);
  const Size& s = size_of(state.range(0));
  int64_t pixels = 0;
  for (const MapSize& level : s.levels) pixels += level.height * level.width;
  const auto levels = static_cast<int64_t>(s.levels.size());
  std::vector<at::Tensor> inputs = {
      at::randn({s.batch, pixels, kHeads, kDims}),
      at::rand({s.batch, s.queries, kHeads, levels, s.points, 2}),
      at::softmax(at::randn({s.batch, s.queries, kHeads, levels, s.points}), -1)};
  for (at::Tensor& input : inputs) input.requires_grad_(with_gradients);
  const at::Tensor direction = at::randn({s.batch, s.queries, kHeads * kDims});
  const at::AutoGradMode grad_mode(with_gradients);
  for (auto _ : state) {
    const at::Tensor out = attention(inputs[0], s.levels, inputs[1], inputs[2]);
    if (with_gradients) {
      out.backward(direction);
      for (at::Tensor& input : inputs) input.mutable_grad().reset();
    }
    benchmark::DoNotOptimize(out.const_data_ptr());
  }
}

// Turn by turn: each pair stands side by side.
const int kRegistered = [] {
  for (const bool with_gradients : {false, true}) {
    for (int64_t i = 0; i < 3; ++i) {
      const char* what = with_gradients ? "forward_backward" : "forward";
      for (const auto& [name, attention] :
           {std::pair<const char*, Attend>("own", deformable_attention),
            {"grid_sample", deformable_attention_by_grid_sample}}) {
        benchmark::RegisterBenchmark((std::string(what) + "/" + name).c_str(), attend, attention,
                                     with_gradients)
            ->Arg(i)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  return 0;
}();

}  // namespace

BENCHMARK_MAIN();
