// GPT-2 (Radford et al., 2019): the next token of a text.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/text/token_data.h>
#include <ffkit/trainer/gpt2.h>
#include <ffkit/trainer/module_model.h>
#include <ffkit/trainer/task.h>

#include "base/make_error.h"
#include "optim/gradients.h"
#include "tasks/gpt2/data/gpt2_data.h"
#include "tasks/gpt2/network/gpt2_config.h"
#include "tasks/gpt2/network/gpt2_network.h"
#include "tasks/gpt2/network/next_token_loss.h"
#include "tasks/gpt2/parallel/gpt2_parts.h"

namespace ffkit {
namespace {

// Dimensions of the mesh.
constexpr char kTensor[] = "tensor", kPipeline[] = "pipeline";
constexpr int kEmbeddingTag = 2;  // of what the first and the last stage exchange

// Of one forward pass: the generator is the same on all processes that have the same batches, also
// where the network is on a GPU.
uint64_t next_dropout_key() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

class Gpt2Task final : public Task {
 public:
  explicit Gpt2Task(TaskSetting setting)
      : Task(std::move(setting)), config_(configured_network(own(), 0)) {
    check_mesh();
    const auto take = [&](const char* name, std::shared_ptr<Peers>& peers) {
      const auto it = this->setting().peers_along.find(name);
      if (it != this->setting().peers_along.end()) peers = it->second;
    };
    take(kTensor, peers_.tensor);
    take(kPipeline, peers_.pipeline);
    peers_.shares_positions = own().sequence_parallel;
  }

  void open() override {
    train_ = open_tokens(own().train_split);
    facts_ = Gpt2Facts::of_data(options(), *train_);
    config_ = configured_network(own(), facts_.vocabulary);
  }
  std::string fingerprint() const override { return train_ ? train_->fingerprint() : ""; }
  TaskFacts facts() const override { return facts_.to_facts(); }
  void set_facts(const TaskFacts& facts) override {
    facts_ = Gpt2Facts::of(facts);
    config_ = configured_network(own(), facts_.vocabulary);
  }
  std::string misfit(const TrainOptions& stored, const TaskFacts& facts) const override;
  TaskFacts facts_of_weights(const std::vector<NamedTensor>& weights,
                             const std::filesystem::path& file) override;

  std::unique_ptr<BatchSource> training_batches(int64_t /*epoch*/) override {
    return std::make_unique<TokenSource>(
        *train_, token_loader_options(options(), setting().place, /*is_training=*/true),
        options().limit_batches * options().accumulate, setting().device);
  }
  std::unique_ptr<BatchSource> validation_batches() override;
  DeviceBatch noise() override;
  double units_per_sample() const override { return configured_context(own()); }

  Model& make_model() override {
    network_ = std::make_shared<Gpt2Network>(config_, peers_);
    model_ = std::make_unique<ModuleModel>(network_);
    if (is_divided()) parts_.emplace(config_, own().tensor_parallel, own().pipeline_parallel);
    return *model_;
  }
  void load_initial_weights() override {
    if (!options().pretrained.empty()) {
      check_gpt2_config(options().pretrained, network_->config(), own().resize_vocabulary);
      check_same_tokens(options().pretrained, facts_.tokenizer);
    }
  }
  WeightRules weight_rules() const override {
    const auto prepare = [own = own(), vocabulary = config_.vocabulary](
                             const std::string& file, std::vector<NamedTensor>& tensors) {
      name_gpt2_tensors(file, tensors);
      if (own.resize_vocabulary) resize_gpt2_vocabulary(tensors, vocabulary);
    };
    return {.name = "GPT-2 of these sizes", .choice = option_name("arch"), .prepare = prepare};
  }

  const ParameterParts* parts() const override { return parts_ ? &*parts_ : nullptr; }
  std::vector<std::string> notes() const override;
  std::vector<std::string> end_notes() override;

  at::Tensor loss(const DeviceBatch& batch) override;
  // The mean is over the targets that count.
  at::Tensor loss_weight(const DeviceBatch& batch) override {
    return batch.has("counts") ? batch.field("counts").to(at::kDouble).mean() : at::Tensor();
  }
  void set_loss_scale(const at::Tensor& scale) override { loss_scale_ = scale; }
  void finish_gradients() override;
  bool are_finite(bool own) override;
  at::Tensor gradient_norm(const std::vector<NamedTensor>& parameters) override;
  at::Tensor forward(const DeviceBatch& batch) override {
    return staged_loss_sum(*network_, inputs_of(batch), targets_of(batch));
  }
  std::unique_ptr<Evaluation> evaluation() override {
    return std::make_unique<TokenEvaluation>([this](const DeviceBatch& batch) {
      const at::Tensor targets = targets_of(batch);
      return at::tensor({forward(batch).item<double>(), targets.ne(kNoTarget).sum().item<double>()},
                        at::kDouble);
    });
  }

 private:
  const Gpt2Options& own() const { return gpt2(options()); }
  Dataset open_tokens(const std::string& name) const {
    Dataset split = open_split(options(), name);
    const std::string misfit = gpt2_misfit(split.schema());
    if (!misfit.empty()) throw dataset_error(split.path(), ErrorCode::invalid_argument, misfit);
    return split;
  }
  void add_weight_notes(std::vector<std::string>& notes) const;
  bool is_divided() const { return own().tensor_parallel * own().pipeline_parallel > 1; }
  // Throws Error(invalid_argument) where options, processes and network do not fit.
  void check_mesh() const;
  // Adds up gradients of parameters that processes along "tensor" have alike and use for other
  // positions each.
  void sum_gradients_of_positions();
  // The parameter that the first and the last stage both have; undefined elsewhere, and where they
  // are one.
  at::Tensor shared_embedding() const;

  // [N, context] i64.
  static at::Tensor inputs_of(const DeviceBatch& batch) {
    const at::Tensor& tokens = batch.field("tokens");
    return tokens.narrow(1, 0, tokens.size(1) - 1);
  }
  // [N, context] i64, kNoTarget where they do not count.
  static at::Tensor targets_of(const DeviceBatch& batch) {
    const at::Tensor& tokens = batch.field("tokens");
    const at::Tensor targets = tokens.narrow(1, 1, tokens.size(1) - 1);
    return batch.has("counts") ? at::where(batch.field("counts"), targets, kNoTarget) : targets;
  }

  Gpt2Config config_;
  Gpt2Peers peers_;
  Gpt2Facts facts_;
  std::optional<Gpt2Parts> parts_;  // of a divided network
  at::Tensor loss_scale_;           // undefined: 1
  PipelineTime pipeline_time_;
  std::optional<Dataset> train_;
  std::shared_ptr<Gpt2Network> network_;
  std::unique_ptr<ModuleModel> model_;
};

std::string Gpt2Task::misfit(const TrainOptions& stored, const TaskFacts& facts) const {
  const Gpt2Facts other = Gpt2Facts::of(facts);
  const Gpt2Config theirs = configured_network(gpt2(stored), other.vocabulary);
  for (const auto& [name, other_size, own_size] : gpt2_differences(theirs, config_)) {
    return fmt::format("the checkpoint belongs to a network with {} {}, but {} were asked for",
                       other_size, name, own_size);
  }
  if (config_.norm_epsilon != theirs.norm_epsilon) {
    return fmt::format(
        "the checkpoint belongs to a network with a layer_norm_epsilon of {}, but {} was asked for",
        theirs.norm_epsilon, config_.norm_epsilon);
  }
  if (other.tokenizer != facts_.tokenizer)
    return "the run of this checkpoint had data from another tokenizer";
  return {};
}

TaskFacts Gpt2Task::facts_of_weights(const std::vector<NamedTensor>& weights,
                                     const std::filesystem::path& file) {
  std::vector<NamedTensor> named = weights;
  name_gpt2_tensors(file.string(), named);
  const auto embedding = std::ranges::find(named, "transformer.wte.weight", &NamedTensor::name);
  if (embedding == named.end() || embedding->tensor.dim() != 2) {
    throw error_at(file, ErrorCode::invalid_argument,
                   "has no tensor 'wte.weight'; it does not belong to a GPT-2");
  }
  facts_ = {.vocabulary = embedding->tensor.size(0)};
  check_gpt2_config(file, configured_network(own(), facts_.vocabulary));
  const Dataset split = open_tokens(own().val_split);
  check_same_tokens(file, Gpt2Facts::of_data(options(), split).tokenizer);
  return facts();
}

std::unique_ptr<BatchSource> Gpt2Task::validation_batches() {
  const Dataset split = open_tokens(own().val_split);
  const Gpt2Facts theirs = Gpt2Facts::of_data(options(), split);
  if (theirs.vocabulary > config_.vocabulary) {
    throw dataset_error(split.path(), ErrorCode::invalid_argument,
                        "its tokens are 0 to {}, but the network has {} tokens",
                        theirs.vocabulary - 1, config_.vocabulary);
  }
  if (!facts_.tokenizer.empty() && theirs.tokenizer != facts_.tokenizer) {
    throw dataset_error(split.path(), ErrorCode::invalid_argument,
                        "its tokens come from another tokenizer");
  }
  return std::make_unique<TokenSource>(
      split, token_loader_options(options(), setting().place, /*is_training=*/false),
      options().limit_batches, setting().device);
}

DeviceBatch Gpt2Task::noise() {
  const at::Generator generator = at::detail::createCPUGenerator(options().seed);
  const at::Tensor tokens =
      at::randint(0, config_.vocabulary, {options().batch_size, configured_context(own()) + 1},
                  generator, at::kLong);
  return {.size = options().batch_size,
          .fields = {{.name = "tokens", .values = tokens.to(setting().device)}}};
}

at::Tensor Gpt2Task::loss(const DeviceBatch& batch) {
  Gpt2Network::Pass pass{.recompute = own().recompute};
  std::optional<uint64_t> key;
  if (config_.dropout > 0) pass.dropout_key = key = next_dropout_key();
  const at::Tensor tokens = inputs_of(batch), targets = targets_of(batch);
  const double factor = 1.0 / targets.numel();
  if (own().pipeline_parallel == 1) {
    return network_->loss_sum(network_->blocks(network_->embed(tokens, pass), pass), targets) *
           factor;
  }
  std::vector<Gpt2Network::Pass> passes(own().micro_batches, pass);
  for (size_t i = 0; key && i < passes.size(); ++i) passes[i].dropout_key = key_of_parts({*key, i});
  return staged_loss(*network_, tokens, targets, factor, passes, loss_scale_, &pipeline_time_);
}

at::Tensor Gpt2Task::shared_embedding() const {
  if (own().pipeline_parallel == 1 || !(peers_.is_first() || peers_.is_last())) return {};
  return network_->named_parameters()["transformer.wte.weight"];
}

void Gpt2Task::sum_gradients_of_positions() {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients, flat;
  for (const auto& p : network_->named_parameters()) {
    // Where each has a part of it, the part's gradient is of all positions.
    if (!tensor_cut(p.key(), p.value().sizes(), 0, 2).runs.empty()) continue;
    gradients.push_back(p.value().grad());
    flat.push_back(gradients.back().reshape({-1}));
  }
  at::Tensor all = at::cat(flat);
  peers_.tensor->sum(all);
  int64_t begin = 0;
  for (const at::Tensor& gradient : gradients) {
    gradient.copy_(all.narrow(0, begin, gradient.numel()).view(gradient.sizes()));
    begin += gradient.numel();
  }
}

// Both stages compute with their own copy of the embedding; its gradient is the sum of theirs.
void Gpt2Task::finish_gradients() {
  if (peers_.shares_positions) sum_gradients_of_positions();
  const at::Tensor embedding = shared_embedding();
  if (!embedding.defined()) return;
  const int other = peers_.is_first() ? peers_.pipeline->world_size() - 1 : 0;
  at::Tensor gradient = embedding.grad().contiguous();
  at::Tensor theirs = at::empty_like(gradient);
  Transfer out = peers_.pipeline->start_send(gradient, other, kEmbeddingTag);
  Transfer in = peers_.pipeline->start_receive(theirs, other, kEmbeddingTag);
  out.wait();
  in.wait();
  const at::NoGradGuard no_grad;
  embedding.grad().copy_(gradient + theirs);
}

bool Gpt2Task::are_finite(bool own) {
  at::Tensor num_others = at::full({1}, own ? 0.0 : 1.0, at::kDouble);
  peers_.tensor->sum(num_others);
  peers_.pipeline->sum(num_others);
  return num_others.item<double>() == 0;
}

at::Tensor Gpt2Task::gradient_norm(const std::vector<NamedTensor>& parameters) {
  if (!is_divided()) return Task::gradient_norm(parameters);
  // Each number of the network once.
  const int rank = peers_.pipeline->rank() * peers_.tensor->world_size() + peers_.tensor->rank();
  std::vector<NamedTensor> counted;
  for (const NamedTensor& p : parameters) {
    const std::vector<int> holders = parts_->holders(p.name);
    if (std::ranges::find(holders, rank) != holders.end()) counted.push_back(p);
  }
  at::Tensor square = ffkit::gradient_norm(counted).square().reshape({1}).to(setting().device);
  peers_.tensor->sum(square);
  peers_.pipeline->sum(square);
  return square.sqrt().squeeze(0);
}

void Gpt2Task::check_mesh() const {
  const int64_t tensor = own().tensor_parallel, pipeline = own().pipeline_parallel;
  const std::string problem = part_problem(config_, tensor, pipeline);
  if (!problem.empty()) throw Error(ErrorCode::invalid_argument, problem);
  const int64_t data = own().data_parallel, found = setting().place.world_size;
  if (data != 0 && data != found) {
    throw error_of(ErrorCode::invalid_argument,
                   "{0} x {1} x {2} need {3} processes, but {4} were started; start {3} processes",
                   option_set("data_parallel", std::to_string(data)),
                   option_set("pipeline_parallel", std::to_string(pipeline)),
                   option_set("tensor_parallel", std::to_string(tensor)), data * pipeline * tensor,
                   found * pipeline * tensor);
  }
  if (options().batch_size % own().micro_batches != 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "a batch of {} samples cannot be divided into {} {}", options().batch_size,
                   own().micro_batches, option_name("micro_batches"));
  }
}

std::vector<std::string> Gpt2Task::notes() const {
  std::vector<std::string> out = {fmt::format(
      "GPT-2 of {} parameters: {:.3g} GFLOP per token in training, context {}",
      config_.num_parameters(), config_.training_flops_per_token(configured_context(own())) / 1e9,
      configured_context(own()))};
  add_weight_notes(out);
  if (own().pipeline_parallel > 1) {
    const int64_t stages = own().pipeline_parallel, pieces = own().micro_batches;
    out.push_back(
        fmt::format("a pipeline of {0} stages waits {1:.1f} % of a step with {2} micro-batches: "
                    "({0} - 1) / ({2} + {0} - 1)",
                    stages, 100 * bubble_share(stages, pieces), pieces));
  }
  return out;
}

// What of the weights that the run began with is not taken over.
void Gpt2Task::add_weight_notes(std::vector<std::string>& notes) const {
  const std::filesystem::path& weights = options().pretrained;
  if (weights.empty() || !std::filesystem::exists(weights)) return;
  const WeightsSource source = find_gpt2_weights(weights);
  if (!source.config) return;
  const std::string& dropouts = source.config->dropouts;
  if (source.config->dropout != config_.dropout || !dropouts.empty()) {
    notes.push_back(fmt::format(
        "{}: its network has the dropout {}, but this run uses {} everywhere (--dropout)",
        weights.string(), dropouts.empty() ? fmt::format("{}", source.config->dropout) : dropouts,
        config_.dropout));
  }
  const int64_t known = source.config->vocabulary, wanted = config_.vocabulary;
  if (own().resize_vocabulary && known != wanted) {
    notes.push_back(fmt::format(
        "{}: its network has {} tokens, but this one has {}: {}", weights.string(), known, wanted,
        known < wanted ? "the rows of new tokens start as the mean of the other rows"
                       : "the rows of the other tokens are left out"));
  }
}

std::vector<std::string> Gpt2Task::end_notes() {
  if (own().pipeline_parallel == 1 || !setting().device.is_cpu()) return {};
  at::Tensor time = at::tensor({pipeline_time_.waited, pipeline_time_.seconds}, at::kDouble);
  peers_.pipeline->sum(time);
  if (time[1].item<double>() == 0) return {};
  return {
      fmt::format("the stages of the pipeline waited {:.1f} % of forward and backward passes, "
                  "expected {:.1f} %",
                  100 * time[0].item<double>() / time[1].item<double>(),
                  100 * bubble_share(own().pipeline_parallel, own().micro_batches))};
}

// As a folder of Hugging Face's has them: config.json, and the tokenizer where it is known.
TaskFacts gpt2_folder(const TrainOptions& options, const TaskFacts& stored) {
  const Gpt2Facts facts = Gpt2Facts::of(stored);
  TaskFacts files;
  std::optional<int64_t> end;
  if (!facts.tokenizer.empty()) {
    const text::Tokenizer own = text::Tokenizer::from_json(facts.tokenizer);
    if (own.has_end_of_text()) end = own.end_of_text();
    files["tokenizer.json"] = facts.tokenizer;
  }
  files["config.json"] = gpt2_config_text(configured_network(gpt2(options), facts.vocabulary), end);
  return files;
}

}  // namespace

void register_gpt2_task(TaskRegistry& registry) {
  registry.add(
      {.name = "gpt2",
       .summary = "the next token of a text, on token data of `ffconvert text`",
       .samples = "sequences",
       .units = "tokens",
       .metrics = token_metrics(),
       .best = "loss",
       .is_lower_better = true,
       .facts = Gpt2Facts::names(),
       .predicted_by = "to continue texts, run ffgenerate --model RUN --prompt TEXT",
       .misfit = gpt2_misfit,
       .make = [](TaskSetting setting) { return std::make_unique<Gpt2Task>(std::move(setting)); },
       .mesh =
           [](const TrainOptions& options) {
             std::vector<MeshDimension> dimensions;
             const auto add = [&](const char* name, int64_t size) {
               if (size > 1) dimensions.push_back({.name = name, .size = static_cast<int>(size)});
             };
             add(kPipeline, gpt2(options).pipeline_parallel);
             add(kTensor, gpt2(options).tensor_parallel);
             return dimensions;
           },
       .files_beside = gpt2_folder,
       .take_settings =
           [](TrainOptions& options, const std::filesystem::path& weights) {
             take_gpt2_settings(gpt2(options), weights);
           },
       .python_model =
           [](const TrainOptions& options, const TaskFacts& facts) {
             const Gpt2Options& own = gpt2(options);
             return gpt2_python(configured_network(own, Gpt2Facts::of(facts).vocabulary),
                                configured_context(own));
           },
       .make_options = [] { return std::make_unique<Gpt2Options>(); }});
}

}  // namespace ffkit
