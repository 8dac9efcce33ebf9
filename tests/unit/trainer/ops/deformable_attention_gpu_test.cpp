// The kernels' code, run on the CPU: each thread of the grid in turn, compared with grid_sample().
// And the kernels themselves, where there is a GPU.
#include "trainer/ops/deformable_attention_gpu.h"

#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/autograd.h>

#include "device/device.h"
#include "ops/deformable_attention_gpu.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

// The lanes of a group, one after the other: each is run twice, first to add up, then with the
// sums.
template <typename T>
class LanesInTurn {
 public:
  explicit LanesInTurn(int count) : count_(count) {}
  int count() const { return count_; }
  T sum(T x) const {
    if (is_adding_up_) {
      if (call_ == sums_.size()) sums_.push_back(0);
      sums_[call_++] += x;
      return std::numeric_limits<T>::quiet_NaN();
    }
    return sums_[call_++];
  }
  void add(T* to, T x) const {
    if (is_adding_up_) *to += x;
  }
  // Runs `thread(i)` for the threads of a group.
  template <typename Thread>
  void run(Thread thread) {
    sums_.clear();
    for (const bool is_adding_up : {true, false}) {
      is_adding_up_ = is_adding_up;
      for (int lane = 0; lane < count_; ++lane) {
        call_ = 0;
        thread(lane);
      }
    }
  }

 private:
  const int count_;
  bool is_adding_up_ = false;
  mutable size_t call_ = 0;
  mutable std::vector<T> sums_;
};

// An array that a kernel writes, with a margin on both sides that it must leave alone.
class Written {
 public:
  Written(at::IntArrayRef sizes, at::ScalarType type, double filled_with)
      : all_(at::full({c10::multiply_integers(sizes) + 2 * kMargin}, kUntouched, type)),
        inner_(all_.narrow(0, kMargin, c10::multiply_integers(sizes)).view(sizes)) {
    inner_.fill_(filled_with);
  }
  const at::Tensor& tensor() const { return inner_; }
  template <typename T>
  T* data() const {
    return inner_.mutable_data_ptr<T>();
  }
  bool has_whole_margins() const {
    return (all_.narrow(0, 0, kMargin) == kUntouched).all().item<bool>() &&
           (all_.narrow(0, all_.numel() - kMargin, kMargin) == kUntouched).all().item<bool>();
  }

 private:
  static constexpr int64_t kMargin = 300;
  static constexpr double kUntouched = 7;
  at::Tensor all_, inner_;
};

struct GpuCase {
  int64_t batch, queries, heads, dims, points;
  std::vector<MapSize> levels;
  GpuGrid grid = {0, 0};  // 0 blocks: the launcher's
};

const std::vector<GpuCase>& gpu_cases() {
  static const std::vector<GpuCase> cases = {
      {2, 11, 3, 32, 4, {{5, 7}, {3, 2}}},
      {1, 1, 1, 1, 1, {{1, 1}}},
      {1, 1, 8, 32, 8, {{4, 6}}},
      {2, 5, 2, 21, 2, {{5, 7}, {3, 2}, {1, 4}, {2, 1}}},
      {3, 7, 1, 40, 1, {{6, 6}}},
      {1, 9, 1, 72, 1, {{3, 5}}},
      {2, 6, 4, 8, 4, {{9, 4}, {2, 2}}},
      {1, 4, 5, 3, 3, {{1, 5}, {5, 1}}},
      // A grid that is too small: each thread has several items.
      {2, 11, 3, 32, 4, {{5, 7}, {3, 2}}, {.blocks = 3, .threads = 64}},
      {2, 13, 3, 5, 2, {{4, 4}}, {.blocks = 2, .threads = 32}},
  };
  return cases;
}

struct GpuInput {
  at::Tensor value, locations, weights, out_gradient;
};

// Locations reach over all borders.
GpuInput make_input(const GpuCase& c, at::ScalarType type) {
  const auto wide = type == at::kDouble ? at::kDouble : at::kFloat;
  const auto levels = static_cast<int64_t>(c.levels.size());
  int64_t pixels = 0;
  for (const MapSize& level : c.levels) pixels += level.height * level.width;
  return {
      .value = at::randn({c.batch, pixels, c.heads, c.dims}, wide).to(type),
      .locations = at::rand({c.batch, c.queries, c.heads, levels, c.points, 2}, wide) * 1.6 - 0.3,
      .weights = at::softmax(at::randn({c.batch, c.queries, c.heads, levels * c.points}, wide), -1)
                     .view({c.batch, c.queries, c.heads, levels, c.points}),
      .out_gradient = at::randn({c.batch, c.queries, c.heads * c.dims}, wide).to(type)};
}

// out, gradients of value, locations, weights.
using Results = std::vector<at::Tensor>;

template <typename Attend>
Results results_of(const GpuInput& in, const std::vector<MapSize>& levels, const Attend& attend) {
  std::vector<at::Tensor> inputs;
  for (const at::Tensor& t : {in.value, in.locations, in.weights}) {
    inputs.push_back(t.detach().clone().requires_grad_(true));
  }
  const at::Tensor out = attend(inputs[0], levels, inputs[1], inputs[2]);
  Results all = torch::autograd::grad({out}, inputs, {in.out_gradient});
  all.insert(all.begin(), out.detach());
  return all;
}

// Calls `thread` for each thread of a grid by its number, blocks in some order, `together`
// neighbours at once.
template <typename Group>
void run_grid(GpuGrid grid, int together, Group group) {
  std::vector<int64_t> blocks(grid.blocks);
  std::iota(blocks.begin(), blocks.end(), int64_t{0});
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(3));
  for (const int64_t block : blocks) {
    for (unsigned thread = 0; thread < grid.threads; thread += static_cast<unsigned>(together)) {
      group(block * grid.threads + thread);
    }
  }
}

template <typename Value, typename T>
Results run_as_on_gpu(const GpuCase& c, const GpuInput& in) {
  const auto type = in.value.scalar_type();
  const auto wide = in.weights.scalar_type();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Written out(in.out_gradient.sizes(), type, kNan);
  const Written value_gradient(in.value.sizes(), wide, 0);
  const Written location_gradient(in.locations.sizes(), wide, kNan);
  const Written weight_gradient(in.weights.sizes(), wide, kNan);
  const GpuAttentionSizes sizes = gpu_sizes(in.value, c.levels, in.weights);
  const GpuAttentionArrays<Value, T> arrays = {in.value.const_data_ptr<Value>(),
                                               in.locations.const_data_ptr<T>(),
                                               in.weights.const_data_ptr<T>(),
                                               out.data<Value>(),
                                               in.out_gradient.const_data_ptr<Value>(),
                                               value_gradient.data<T>(),
                                               location_gradient.data<T>(),
                                               weight_gradient.data<T>()};
  const auto grid_for = [&](int64_t items) {
    return c.grid.blocks == 0 ? gpu_grid(items) : c.grid;
  };

  const int64_t forward_items = num_forward_items(sizes);
  const GpuGrid forward = grid_for(forward_items);
  const int64_t forward_threads = int64_t{forward.blocks} * forward.threads;
  run_grid(forward, 1, [&](int64_t thread) {
    attend_thread(sizes, arrays, forward_items, thread, forward_threads);
  });

  const int64_t backward_items = num_backward_items(sizes);
  const GpuGrid backward = grid_for(backward_items);
  const int64_t backward_threads = int64_t{backward.blocks} * backward.threads;
  LanesInTurn<T> lanes(num_lanes(sizes.dims));
  run_grid(backward, lanes.count(), [&](int64_t first) {
    lanes.run([&](int lane) {
      give_back_thread(sizes, arrays, backward_items, first + lane, backward_threads, lanes);
    });
  });
  for (const Written* array : {&out, &value_gradient, &location_gradient, &weight_gradient}) {
    EXPECT_TRUE(array->has_whole_margins());
  }
  return {out.tensor(), value_gradient.tensor().to(type), location_gradient.tensor(),
          weight_gradient.tensor()};
}

Results run_as_on_gpu(const GpuCase& c, const GpuInput& in) {
  switch (in.value.scalar_type()) {
    case at::kDouble:
      return run_as_on_gpu<double, double>(c, in);
    case at::kHalf:
      return run_as_on_gpu<c10::Half, float>(c, in);
    case at::kBFloat16:
      return run_as_on_gpu<c10::BFloat16, float>(c, in);
    default:
      return run_as_on_gpu<float, float>(c, in);
  }
}

// Of the largest value of each.
double tolerance_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return 1e-12;
    case at::kHalf:
      return 1e-3;
    case at::kBFloat16:
      return 8e-3;
    default:
      return 2e-5;
  }
}

constexpr at::ScalarType kGpuTypes[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};

void expect_close(const Results& own, const Results& wanted, double tolerance) {
  const char* const names[] = {"out", "value", "locations", "weights"};
  ASSERT_EQ(own.size(), wanted.size());
  for (size_t i = 0; i < own.size(); ++i) {
    ASSERT_EQ(own[i].scalar_type(), wanted[i].scalar_type()) << names[i];
    const at::Tensor a = own[i].to(at::kDouble), b = wanted[i].to(at::kDouble);
    // NaN fails too.
    EXPECT_LE((a - b).abs().max().item<double>(), tolerance * b.abs().max().item<double>() + 1e-30)
        << names[i];
  }
}

TEST(DeformableAttentionGpu, ThreadsInTurnEqualGridSample) {
  for (const GpuCase& c : gpu_cases()) {
    for (const at::ScalarType type : kGpuTypes) {
      SCOPED_TRACE(::testing::Message() << "dims " << c.dims << ", " << at::toString(type));
      const GpuInput in = make_input(c, type);
      expect_close(run_as_on_gpu(c, in),
                   results_of(in, c.levels, deformable_attention_by_grid_sample),
                   tolerance_of(type));
    }
  }
}

TEST(DeformableAttentionGpu, LocationsThatAreNotFiniteCountAsFarOutside) {
  const GpuCase c = gpu_cases().front();
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), -1e30, 1e30}) {
    for (const at::ScalarType type : kGpuTypes) {
      SCOPED_TRACE(::testing::Message() << odd << ", " << at::toString(type));
      GpuInput in = make_input(c, type);
      const at::Tensor some = at::rand(in.locations.sizes()) < 0.3;
      GpuInput outside = in;
      outside.locations = in.locations.masked_fill(some, 5);
      in.locations = in.locations.masked_fill(some, odd);
      expect_close(run_as_on_gpu(c, in),
                   results_of(outside, c.levels, deformable_attention_by_grid_sample),
                   tolerance_of(type));
    }
  }
}

// What --deterministic takes instead of the kernels' sum.
TEST(DeformableAttentionGpu, SumInOneOrderEqualsGridSample) {
  for (const GpuCase& c : gpu_cases()) {
    for (const at::ScalarType type : kGpuTypes) {
      SCOPED_TRACE(::testing::Message() << "dims " << c.dims << ", " << at::toString(type));
      const GpuInput in = make_input(c, type);
      Results wanted = results_of(in, c.levels, deformable_attention_by_grid_sample);
      Results seen = wanted;
      seen[1] =
          deformable_value_gradient(in.value, c.levels, in.locations, in.weights, in.out_gradient)
              .to(type);
      expect_close(seen, wanted, tolerance_of(type));
    }
  }
  const GpuCase c = gpu_cases().front();
  GpuInput in = make_input(c, at::kFloat), outside = in;
  const at::Tensor some = at::rand(in.locations.sizes()) < 0.3;
  in.locations = in.locations.masked_fill(some, std::numeric_limits<double>::quiet_NaN());
  outside.locations = outside.locations.masked_fill(some, 5);
  EXPECT_TRUE(at::equal(
      deformable_value_gradient(in.value, c.levels, in.locations, in.weights, in.out_gradient),
      deformable_value_gradient(in.value, c.levels, outside.locations, in.weights,
                                in.out_gradient)));
}

TEST(DeformableAttentionGpu, GridHoldsEveryItemWithinTheLimits) {
  EXPECT_EQ(gpu_grid(0).blocks, 0u);
  EXPECT_EQ(gpu_grid(1).blocks, 1u);
  EXPECT_EQ(gpu_grid(256).blocks, 1u);
  EXPECT_EQ(gpu_grid(257).blocks, 2u);
  // Groups of lanes never reach over two warps.
  EXPECT_EQ(gpu_grid(1).threads % kMostLanes, 0u);
  // More items than a grid has threads: some have several.
  GpuAttentionSizes huge{.batch = 48,
                         .pixels = 30'825,
                         .heads = 8,
                         .dims = 512,
                         .queries = 40'000'000,
                         .points = 8,
                         .num_levels = 4,
                         .levels = {}};
  const GpuGrid grid = gpu_grid(num_forward_items(huge));
  EXPECT_EQ(num_forward_items(huge), int64_t{48} * 8 * 512 * 40'000'000);
  EXPECT_EQ(num_backward_items(huge), int64_t{48} * 8 * 32 * 40'000'000);
  EXPECT_LE(grid.blocks, 2'147'483'647u);
  EXPECT_GE(grid.blocks, 100'000u);
}

TEST(DeformableAttentionGpu, LanesArePowersOfTwoUpToAWarp) {
  const std::pair<int64_t, int> wanted[] = {{1, 1},   {2, 2},   {3, 4},   {8, 8},
                                            {21, 32}, {32, 32}, {40, 32}, {512, 32}};
  for (const auto& [dims, lanes] : wanted) EXPECT_EQ(num_lanes(dims), lanes) << dims;
}

TEST(DeformableAttentionGpu, TensorsOfTheCpuStayThere) {
  EXPECT_FALSE(can_attend_on_gpu(at::rand({1, 4, 1, 8}), {{2, 2}}));
}

// Forward and backward: on the CPU by loops of our own.
TEST(DeformableAttentionKernels, EqualTheCpus) {
  if (!cuda_is_available()) GTEST_SKIP() << "there is no GPU";
  for (const GpuCase& c : gpu_cases()) {
    for (const at::ScalarType type : kGpuTypes) {
      SCOPED_TRACE(::testing::Message() << "dims " << c.dims << ", " << at::toString(type));
      const GpuInput in = make_input(c, type);
      GpuInput there = in;
      for (at::Tensor* t : {&there.value, &there.locations, &there.weights, &there.out_gradient}) {
        *t = t->to(c10::Device(at::kCUDA, 0));
      }
      if (!can_attend_on_gpu(there.value, c.levels)) GTEST_SKIP() << "built without nvcc";
      std::vector<at::Tensor> seen = results_of(there, c.levels, deformable_attention);
      for (at::Tensor& t : seen) t = t.cpu();
      expect_close(seen, results_of(in, c.levels, deformable_attention), tolerance_of(type));
    }
  }
}

TEST(DeformableAttentionKernels, GiveTheSameBitsWhereAskedTo) {
  if (!cuda_is_available()) GTEST_SKIP() << "there is no GPU";
  const GpuCase c{2, 3000, 8, 32, 4, {{5, 7}, {3, 2}}};  // many queries for each pixel
  GpuInput in = make_input(c, at::kFloat);
  const Results wanted = results_of(in, c.levels, deformable_attention);
  for (at::Tensor* t : {&in.value, &in.locations, &in.weights, &in.out_gradient}) {
    *t = t->to(c10::Device(at::kCUDA, 0));
  }
  if (!can_attend_on_gpu(in.value, c.levels)) GTEST_SKIP() << "built without nvcc";
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  Results first = results_of(in, c.levels, deformable_attention);
  for (int i = 0; i < 10; ++i) {
    const Results again = results_of(in, c.levels, deformable_attention);
    for (size_t k = 0; k < first.size(); ++k) EXPECT_TRUE(at::equal(first[k], again[k])) << k;
  }
  at::globalContext().setDeterministicAlgorithms(false, /*warn_only=*/false);
  for (at::Tensor& t : first) t = t.cpu();
  expect_close(first, wanted, tolerance_of(at::kFloat));
}

TEST(DeformableAttentionKernels, EqualGridSample) {
  if (!cuda_is_available()) GTEST_SKIP() << "there is no GPU";
  for (const GpuCase& c : gpu_cases()) {
    for (const at::ScalarType type : kGpuTypes) {
      SCOPED_TRACE(::testing::Message() << "dims " << c.dims << ", " << at::toString(type));
      GpuInput in = make_input(c, type);
      for (at::Tensor* t : {&in.value, &in.locations, &in.weights, &in.out_gradient}) {
        *t = t->to(c10::Device(at::kCUDA, 0));
      }
      if (!can_attend_on_gpu(in.value, c.levels)) GTEST_SKIP() << "built without nvcc";
      expect_close(results_of(in, c.levels, deformable_attention),
                   results_of(in, c.levels, deformable_attention_by_grid_sample),
                   tolerance_of(type));
    }
  }
}

}  // namespace
}  // namespace ffkit
