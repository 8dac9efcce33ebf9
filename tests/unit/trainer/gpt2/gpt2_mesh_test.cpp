#include <ATen/ops/sin.h>

#include <ffkit/trainer/gpt2.h>
#include <ffkit/trainer/task.h>
#include <ffkit/trainer/task_registry.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_parts.h"
#include "files/safetensors.h"
#include "options/stored_options.h"
#include "step/training_step.h"
#include "step/whole_state.h"
#include "support/world.h"
#include "tasks/gpt2/parallel/gpt2_parts.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kMeshBatch = 8, kMeshContext = 10, kMeshVocabulary = 37;
constexpr int kMeshSteps = 20;

struct MeshOfGpt2 {
  int data = 1, tensor = 1, pipeline = 1;
  int64_t micro_batches = 1;
  bool shard_optimizer = false;
  bool sequence_parallel = false;
  Amp amp = Amp::off;
};

// Three blocks: two stages have one and two of them.
TrainOptions gpt2_mesh_options(const MeshOfGpt2& mesh) {
  TrainOptions o;
  o.task = "gpt2";
  o.optimizer = OptimizerKind::adamw;
  o.lr = 1e-2;
  o.clip_grad_norm = 0.5;
  // The gradient of a bias of keys is 0 but for rounding, which Adam would make steps of.
  o.adam_eps = 1e-4;
  o.compute_threads = 1;
  o.batch_size = kMeshBatch / mesh.data;
  o.shard_optimizer = mesh.shard_optimizer;
  o.amp = mesh.amp;
  o.loss_scale = 0;  // found on the way
  Gpt2Options& own = gpt2(o);
  own.layers = 3;
  own.heads = 2;
  own.width = 16;
  own.positions = 12;
  own.context = kMeshContext;
  own.vocabulary = kMeshVocabulary;
  own.dropout = 0;
  own.tensor_parallel = mesh.tensor;
  own.pipeline_parallel = mesh.pipeline;
  own.micro_batches = mesh.micro_batches;
  own.sequence_parallel = mesh.sequence_parallel;
  return o;
}

at::Tensor mesh_sequences() {
  return (at::arange(kMeshBatch * (kMeshContext + 1)) * 7 +
          at::arange(kMeshBatch * (kMeshContext + 1)).square())
      .remainder(kMeshVocabulary)
      .view({kMeshBatch, kMeshContext + 1});
}

// On rank 0: numbers by a formula.
std::vector<NamedTensor> filled_by_formula(const std::vector<NamedTensor>& whole) {
  double seed = 0;
  for (const NamedTensor& t : whole) {
    const bool is_norm = t.name.find("ln_") != std::string::npos && t.name.ends_with("weight");
    t.tensor.detach().copy_(
        (at::sin(at::arange(t.tensor.numel()) * 12.9898 + ++seed) * 0.1 + (is_norm ? 1 : 0))
            .view(t.tensor.sizes()));
  }
  return whole;
}

struct MeshResult {
  std::map<std::string, at::Tensor> optimizer;  // its state after the last step
  std::vector<int64_t> state_numbers;           // that each process keeps of it
  std::vector<double> losses;
  double validation = 0;                        // before the first step
  std::map<std::string, at::Tensor> gradients;  // of the first step
  std::map<std::string, at::Tensor> weights;    // after the last one
};

std::map<std::string, at::Tensor> copies_by_name(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, at::Tensor> out;
  for (const NamedTensor& t : tensors) out[t.name] = t.tensor.detach().clone();
  return out;
}

// On rank 0: the whole tensors of all processes, by way of a checkpoint in parts.
std::map<std::string, at::Tensor> whole_by_name(const RunMesh& mesh, const WholeState& state,
                                                const std::vector<NamedTensor>& own,
                                                const std::filesystem::path& path) {
  if (!state.is_divided()) return copies_by_name(own);
  write_parts(mesh.world(), path, {}, state.to_write(own));
  return mesh.world().rank() == 0 ? copies_by_name(load_whole(path, ""))
                                  : std::map<std::string, at::Tensor>();
}

MeshResult train_gpt2(const MeshOfGpt2& shape) {
  MeshResult result;
  const testing::TempDir temp;
  testing::run_world(shape.data * shape.tensor * shape.pipeline, [&](Communicator& world) {
    const TrainOptions options = gpt2_mesh_options(shape);
    const RunMesh mesh(options, world);
    const std::unique_ptr<Task> task = make_task(options, mesh);
    TrainedModel trained(*task, options, mesh.data());
    const WholeState state(mesh, task->parts(), shape.shard_optimizer ? &trained.model : nullptr);
    const std::vector<NamedTensor> own = trained.model.parameters();
    std::vector<NamedTensor> prefixed;
    for (const NamedTensor& p : own) prefixed.push_back({"model." + p.name, p.tensor});
    state.spread(filled_by_formula(state.to_fill(prefixed)), prefixed);

    DeviceBatch batch{.size = options.batch_size};
    batch.fields.push_back({.name = "tokens",
                            .values = mesh_sequences().narrow(
                                0, mesh.data().rank() * options.batch_size, options.batch_size)});
    {
      const at::NoGradGuard no_grad;
      const std::unique_ptr<Evaluation> evaluation = task->evaluation();
      evaluation->add(batch);
      Peers alone;
      const double loss = evaluation->finish(alone).value("loss");
      const double all = mesh.data().sum(std::vector<double>{loss})[0] / shape.data;
      if (world.rank() == 0) result.validation = all;
    }
    for (int step = 0; step < kMeshSteps; ++step) {
      trained.step.begin(step);
      trained.step.add(batch, /*is_last=*/true);
      const double loss = trained.step.end(options.lr).item<double>();
      const double all = world.sum(std::vector<double>{loss})[0] / world.world_size();
      if (world.rank() == 0) result.losses.push_back(all);
      if (step > 0) continue;
      std::vector<NamedTensor> gradients;
      for (const NamedTensor& p : own) gradients.push_back({"model." + p.name, p.tensor.grad()});
      const auto whole = whole_by_name(mesh, state, gradients, temp / "gradients.parts");
      if (world.rank() == 0) result.gradients = whole;
    }
    const auto whole = whole_by_name(mesh, state, prefixed, temp / "weights.parts");
    if (world.rank() == 0) result.weights = whole;

    std::vector<NamedTensor> kept;
    append_with_prefix(kOptimizerPrefix, trained.optimizer->state(), kept);
    std::vector<double> numbers(size_t(world.world_size()), 0);
    for (const NamedTensor& t : kept) numbers[size_t(world.rank())] += double(t.tensor.numel());
    numbers = world.sum(numbers);
    std::erase_if(kept, [](const NamedTensor& t) { return t.tensor.dim() == 0; });  // the step
    const auto optimizer = whole_by_name(mesh, state, kept, temp / "optimizer.parts");
    if (world.rank() != 0) return;
    result.optimizer = optimizer;
    result.state_numbers.assign(numbers.begin(), numbers.end());
  });
  return result;
}

double largest_gpt2_difference(const std::map<std::string, at::Tensor>& a,
                               const std::map<std::string, at::Tensor>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (const auto& [name, tensor] : a)
    largest = std::max(largest, (tensor - b.at(name)).abs().max().item<double>());
  return largest;
}

// What belongs to no parameter, such as the optimiser's number of steps, is of rank 0, too.
TEST(Gpt2Mesh, SpreadsWhatAllProcessesHaveWhole) {
  testing::run_world(2, [](Communicator& world) {
    const TrainOptions options = gpt2_mesh_options({.tensor = 2});
    const RunMesh mesh(options, world);
    const std::unique_ptr<Task> task = make_task(options, mesh);
    const TrainedModel trained(*task, options, mesh.data());
    const WholeState state(mesh, task->parts(), nullptr);
    const at::Tensor steps = at::full({}, world.rank() == 0 ? 5.0 : 0.0);
    std::vector<NamedTensor> own = {{"optimizer.step", steps}};
    for (const NamedTensor& p : trained.model.parameters()) {
      own.push_back({"model." + p.name, p.tensor});
    }
    state.spread(filled_by_formula(state.to_fill({own.begin() + 1, own.end()})), own);
    EXPECT_EQ(steps.item<double>(), 5.0);
  });
}

// A checkpoint of one process, which rank 0 alone reads, is on all of them then.
TEST(Gpt2Mesh, LoadsAWholeCheckpointOnAllProcesses) {
  const testing::TempDir temp;
  std::map<std::string, at::Tensor> saved;
  testing::run_world(1, [&](Communicator& world) {
    CheckpointInfo info;
    info.options = gpt2_mesh_options({});
    info.facts = {{"vocabulary", std::to_string(kMeshVocabulary)}, {"tokenizer", ""}};
    const RunMesh mesh(info.options, world);
    const std::unique_ptr<Task> task = make_task(info.options, mesh);
    const TrainedModel trained(*task, info.options, mesh.data());
    const auto state = filled_by_formula(model_state(trained.model));
    write_safetensors(temp / "whole", snapshot(info, state));
    saved = copies_by_name(state);
  });
  for (const MeshOfGpt2& shape : {MeshOfGpt2{.data = 2}, MeshOfGpt2{.tensor = 2}}) {
    testing::run_world(2, [&](Communicator& world) {
      const TrainOptions options = gpt2_mesh_options(shape);
      const RunMesh mesh(options, world);
      const std::unique_ptr<Task> task = make_task(options, mesh);
      const TrainedModel trained(*task, options, mesh.data());
      const WholeState state(mesh, task->parts(), nullptr);
      const std::vector<NamedTensor> own = model_state(trained.model);
      state.load_checkpoint(temp / "whole", own);
      const auto loaded = whole_by_name(mesh, state, own, temp / "loaded.parts");
      if (state.is_divided() && world.rank() != 0) return;  // rank 0 has the parts of both
      EXPECT_EQ(largest_gpt2_difference(saved, loaded), 0) << world.rank();
    });
  }
}

TEST(Gpt2Mesh, ComputesWhatOneProcessDoes) {
  const MeshResult one = train_gpt2({});
  ASSERT_EQ(one.losses.size(), size_t(kMeshSteps));
  EXPECT_NEAR(one.validation, one.losses[0], 1e-6);
  EXPECT_LT(one.losses.back(), one.losses.front() - 1);
  EXPECT_EQ(one.gradients.size(), 40u);
  for (const MeshOfGpt2& mesh : std::vector<MeshOfGpt2>{
           {.data = 2},
           {.tensor = 2},
           {.pipeline = 2, .micro_batches = 4},
           {.data = 2, .tensor = 2},
           {.tensor = 2, .pipeline = 2, .micro_batches = 2},
           {.data = 2, .pipeline = 2, .micro_batches = 2},
           {.pipeline = 3, .micro_batches = 1},
           {.tensor = 2, .sequence_parallel = true},
           {.data = 2, .tensor = 2, .sequence_parallel = true},
           {.tensor = 2, .pipeline = 2, .micro_batches = 2, .sequence_parallel = true},
           {.data = 4, .shard_optimizer = true},
           {.data = 2, .tensor = 2, .shard_optimizer = true},
           {.data = 2, .pipeline = 2, .micro_batches = 2, .shard_optimizer = true}}) {
    const std::string name = std::to_string(mesh.data) + " x " + std::to_string(mesh.pipeline) +
                             " x " + std::to_string(mesh.tensor) +
                             (mesh.sequence_parallel ? ", positions" : "") +
                             (mesh.shard_optimizer ? ", optimizer" : "");
    const MeshResult other = train_gpt2(mesh);
    EXPECT_NEAR(other.validation, one.validation, 1e-6) << name;
    ASSERT_EQ(other.losses.size(), one.losses.size());
    for (size_t i = 0; i < one.losses.size(); ++i)
      EXPECT_NEAR(other.losses[i], one.losses[i], 1e-5) << name << ", step " << i;
    EXPECT_LT(largest_gpt2_difference(one.gradients, other.gradients), 1e-5) << name;
    EXPECT_LT(largest_gpt2_difference(one.weights, other.weights), 1e-4) << name;
    EXPECT_LT(largest_gpt2_difference(one.optimizer, other.optimizer), 1e-4) << name;
    if (!mesh.shard_optimizer || mesh.tensor * mesh.pipeline > 1) continue;
    for (const int64_t numbers : other.state_numbers)
      EXPECT_NEAR(double(numbers), double(one.state_numbers[0]) / mesh.data,
                  0.02 * double(one.state_numbers[0]));
  }
}

TEST(Gpt2Mesh, RefusesWhatDoesNotFit) {
  testing::run_world(4, [](Communicator& world) {
    TrainOptions options = gpt2_mesh_options({.tensor = 2});
    gpt2(options).data_parallel = 4;
    const RunMesh mesh(options, world);
    EXPECT_ERROR(make_task(options, mesh), invalid_argument);
    world.barrier();  // or a process ends while another one still forms its groups
  });
  Communicator alone({}, c10::kCPU);
  const TrainOptions heads = gpt2_mesh_options({.tensor = 3});
  EXPECT_ERROR(RunMesh(heads, alone), invalid_argument);
  TrainOptions pieces = gpt2_mesh_options({.micro_batches = 2});
  EXPECT_ERROR(validate(pieces), invalid_argument);
  TrainOptions positions = gpt2_mesh_options({.sequence_parallel = true});
  EXPECT_ERROR(validate(positions), invalid_argument);
  positions = gpt2_mesh_options({.tensor = 2, .sequence_parallel = true});
  gpt2(positions).context = 9;
  EXPECT_ERROR(validate(positions), invalid_argument);
  EXPECT_EQ(bubble_share(4, 12), 0.2);
}

// A gradient that is not finite on one process: all leave the step out and halve the scale of the
// loss, then go on together.
TEST(Gpt2Mesh, LeavesOutTheSameStepsInFloat16) {
  const MeshResult one = train_gpt2({.amp = Amp::fp16});
  for (const MeshOfGpt2& shape : std::vector<MeshOfGpt2>{
           {.tensor = 2, .amp = Amp::fp16},
           {.tensor = 2, .pipeline = 2, .micro_batches = 2, .amp = Amp::fp16}}) {
    const MeshResult other = train_gpt2(shape);
    for (size_t i = 0; i < one.losses.size(); ++i)
      EXPECT_NEAR(other.losses[i], one.losses[i], 0.03) << "step " << i;
  }
  const MeshOfGpt2 shape{.tensor = 2, .pipeline = 2, .micro_batches = 2, .amp = Amp::fp16};
  testing::run_world(4, [&](Communicator& world) {
    const TrainOptions options = gpt2_mesh_options(shape);
    const RunMesh mesh(options, world);
    const std::unique_ptr<Task> task = make_task(options, mesh);
    TrainedModel trained(*task, options, mesh.data());
    DeviceBatch batch{.size = options.batch_size};
    batch.fields.push_back({.name = "tokens", .values = mesh_sequences()});
    const auto scale = [&] { return trained.step.scaler().factor().item<double>(); };
    for (const bool overflows : {false, true, false}) {
      const double before = scale();
      const std::vector<NamedTensor> parameters = trained.model.parameters();
      const auto weights = copies_by_name(parameters);
      trained.step.begin(0);
      trained.step.add(batch, /*is_last=*/true);
      if (overflows && world.rank() == 2) parameters.back().tensor.grad().fill_(INFINITY);
      trained.step.end(options.lr);
      EXPECT_EQ(scale(), overflows ? before / 2 : before) << world.rank();
      const double change = largest_gpt2_difference(weights, copies_by_name(parameters));
      EXPECT_EQ(change == 0, overflows) << world.rank();
    }
    EXPECT_EQ(trained.step.num_skipped(), 1) << world.rank();
  });
}

// A run that divides nothing has the options in its checkpoints that it had before there were
// these.
TEST(Gpt2Mesh, OptionsAreKeptWhereTheyAreGiven) {
  for (const char* name : {"sequence_parallel", "shard_optimizer"}) {
    EXPECT_EQ(options_to_json(gpt2_mesh_options({}), TaskRegistry::instance()).find(name),
              std::string::npos)
        << name;
    EXPECT_NE(
        options_to_json(
            gpt2_mesh_options({.tensor = 2, .shard_optimizer = true, .sequence_parallel = true}),
            TaskRegistry::instance())
            .find(name),
        std::string::npos)
        << name;
  }
}

// Parts make a whole, and each number of it has one holder.
TEST(Gpt2Mesh, PartsMakeAWhole) {
  const Gpt2Config config = {.layers = 3, .heads = 2, .width = 4, .positions = 6, .vocabulary = 7};
  const Gpt2Parts parts(config, 2, 2);
  int64_t numbers = 0;
  for (const std::string& name : parts.names()) {
    const std::vector<int64_t> shape = parts.whole_shape(name);
    at::Tensor whole = at::zeros(shape);
    whole.copy_(at::arange(whole.numel()).view(shape));
    double sum = 0;
    for (const int rank : parts.holders(name)) {
      const at::Tensor part = part_of(whole, parts.cut(name, rank));
      sum += part.sum(at::kDouble).item<double>();
      numbers += part.numel();
    }
    EXPECT_EQ(sum, whole.sum(at::kDouble).item<double>()) << name;
  }
  EXPECT_EQ(numbers, config.num_parameters());
  EXPECT_EQ(parts.holders("transformer.h.0.ln_1.weight"), std::vector<int>{0});
  EXPECT_EQ(parts.holders("transformer.h.1.mlp.c_fc.bias"), (std::vector<int>{2, 3}));
  EXPECT_EQ(parts.holders("transformer.ln_f.bias"), std::vector<int>{2});
}

}  // namespace
}  // namespace ffkit
