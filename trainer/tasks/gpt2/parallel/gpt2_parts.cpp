#include "tasks/gpt2/parallel/gpt2_parts.h"

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <utility>

#include "device/device.h"
#include "launch/waiting.h"

namespace ffkit {
namespace {

constexpr std::string_view kBlocks = "transformer.h.";

}  // namespace

std::vector<std::string> Gpt2Parts::names() const {
  std::vector<std::string> out = {"transformer.wte.weight", "transformer.wpe.weight"};
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    for (const char* module :
         {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"}) {
      for (const char* kind : {"weight", "bias"})
        out.push_back(fmt::format("{}{}.{}.{}", kBlocks, layer, module, kind));
    }
  }
  out.emplace_back("transformer.ln_f.weight");
  out.emplace_back("transformer.ln_f.bias");
  return out;
}

std::vector<int64_t> Gpt2Parts::whole_shape(const std::string& name) const {
  const int64_t e = config_.width;
  if (name.ends_with("wte.weight")) return {config_.vocabulary, e};
  if (name.ends_with("wpe.weight")) return {config_.positions, e};
  if (name.ends_with("c_attn.weight")) return {e, 3 * e};
  if (name.ends_with("c_attn.bias")) return {3 * e};
  if (name.ends_with("attn.c_proj.weight")) return {e, e};
  if (name.ends_with("c_fc.weight")) return {e, 4 * e};
  if (name.ends_with("c_fc.bias")) return {4 * e};
  if (name.ends_with("mlp.c_proj.weight")) return {4 * e, e};
  return {e};
}

int Gpt2Parts::stage_of(const std::string& name) const {
  if (name.starts_with("transformer.ln_f.")) return pipeline_ - 1;
  if (!name.starts_with(kBlocks)) return 0;
  const int64_t layer = std::strtoll(name.c_str() + kBlocks.size(), nullptr, 10);
  for (int stage = 0; stage < pipeline_; ++stage) {
    if (layer < config_.layers * (stage + 1) / pipeline_) return stage;
  }
  return pipeline_ - 1;
}

std::vector<int> Gpt2Parts::holders(const std::string& name) const {
  const int first = stage_of(name) * tensor_;
  std::vector<int> out = {first};
  if (cut(name, first).runs.empty()) return out;  // all have it
  for (int i = 1; i < tensor_; ++i) out.push_back(first + i);
  return out;
}

TensorCut Gpt2Parts::cut(const std::string& name, int rank) const {
  return tensor_cut(name, whole_shape(name), rank % tensor_, tensor_);
}

namespace {

namespace autograd = torch::autograd;

// Tags of what stages hand on.
constexpr int kActivations = 0, kGradients = 1;

struct FoundGradients : torch::CustomClassHolder {
  std::vector<at::Tensor> gradients;
  at::Tensor scale;  // that they have already; undefined: none
};

// A number whose gradients are known already.
struct KnownLoss : autograd::Function<KnownLoss> {
  static at::Tensor forward(autograd::AutogradContext* context, const at::Tensor& loss,
                            const c10::intrusive_ptr<FoundGradients>& found,
                            at::TensorList /*parameters*/) {
    context->saved_data["found"] = c10::IValue::make_capsule(found);
    return loss.clone();
  }
  static autograd::variable_list backward(autograd::AutogradContext* context,
                                          const autograd::variable_list& gradients) {
    const auto& found =
        static_cast<const FoundGradients&>(*context->saved_data["found"].toCapsule());
    const at::Tensor factor =
        found.scale.defined() ? gradients[0] / found.scale.squeeze(0) : gradients[0];
    autograd::variable_list out = {at::Tensor(), at::Tensor()};
    for (const at::Tensor& gradient : found.gradients) out.push_back(gradient * factor);
    return out;
  }
};

using Clock = std::chrono::steady_clock;

class Stage {
 public:
  Stage(Gpt2Network& network, at::IntArrayRef tokens)
      : network_(network),
        peers_(*network.peers().pipeline),
        shape_({tokens[0], network.own_positions(tokens[1]), network.config().width}) {
    for (const at::Tensor& p : network.parameters()) parameters_.push_back(p);
  }

  // What the stage before hands on, or the embedding; `in` is its leaf, undefined on the first
  // stage.
  at::Tensor enter(const at::Tensor& tokens, const Gpt2Network::Pass& pass, at::Tensor& in) {
    if (network_.peers().is_first()) return network_.embed(tokens, pass);
    in = received(peers_.rank() - 1, kActivations);
    in.set_requires_grad(at::GradMode::is_enabled());
    return in;
  }
  at::Tensor received(int from, int tag) {
    const at::Tensor& like = parameters_.front();
    at::Tensor out = at::empty(shape_, like.options());
    const Clock::time_point start = Clock::now();
    peers_.start_receive(out, from, tag).wait();
    waited_ += seconds_since(start);
    return out;
  }
  void send(const at::Tensor& tensor, int to, int tag) {
    at::Tensor held = tensor.detach().to(parameters_.front().scalar_type()).contiguous();
    sent_.emplace_back(peers_.start_send(held, to, tag), held);
  }
  void wait_for_sent() {
    for (auto& [transfer, held] : sent_) transfer.wait();
    sent_.clear();
  }

  double waited() const { return waited_; }
  int rank() const { return peers_.rank(); }
  int size() const { return peers_.world_size(); }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
  Gpt2Network& network_;
  Peers& peers_;
  const std::vector<int64_t> shape_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::pair<Transfer, at::Tensor>> sent_;
  double waited_ = 0;
};

// The number that the last stage has, for all stages.
at::Tensor from_last_stage(const at::Tensor& number, const Gpt2Network& network) {
  at::Tensor out = network.peers().is_last() ? number.detach().clone() : at::zeros_like(number);
  network.peers().pipeline->sum(out);
  return out;
}

}  // namespace

double bubble_share(int64_t stages, int64_t micro_batches) {
  return static_cast<double>(stages - 1) / (micro_batches + stages - 1);
}

at::Tensor staged_loss_sum(Gpt2Network& network, const at::Tensor& tokens,
                           const at::Tensor& targets) {
  Stage stage(network, tokens.sizes());
  at::Tensor in;
  const at::Tensor x = network.blocks(stage.enter(tokens, {}, in), {});
  at::Tensor sum = at::zeros({}, x.options().dtype(at::kFloat));
  if (network.peers().is_last()) {
    sum = network.loss_sum(x, targets);
  } else {
    stage.send(x, stage.rank() + 1, kActivations);
    stage.wait_for_sent();
  }
  return from_last_stage(sum, network);
}

at::Tensor staged_loss(Gpt2Network& network, const at::Tensor& tokens, const at::Tensor& targets,
                       double factor, const std::vector<Gpt2Network::Pass>& passes,
                       const at::Tensor& scale, PipelineTime* time) {
  const Clock::time_point start = Clock::now();
  const auto micro_batches = std::ssize(passes);
  const std::vector<at::Tensor> token_parts = tokens.chunk(micro_batches);
  const std::vector<at::Tensor> target_parts = targets.chunk(micro_batches);
  Stage stage(network, token_parts.front().sizes());
  const bool is_first = network.peers().is_first(), is_last = network.peers().is_last();

  struct Piece {
    at::Tensor in, out;
  };
  std::deque<Piece> open;  // that wait for their backward pass
  auto found = c10::make_intrusive<FoundGradients>();
  found->scale = scale;
  at::Tensor loss;

  const auto run_forward = [&](int64_t i) {
    Piece piece;
    const Gpt2Network::Pass& pass = passes[i];
    piece.out = network.blocks(stage.enter(token_parts[i], pass, piece.in), pass);
    if (is_last) {
      piece.out = network.loss_sum(piece.out, target_parts[i]) * factor;
      loss = loss.defined() ? loss + piece.out.detach() : piece.out.detach();
      if (scale.defined()) piece.out = piece.out * scale.squeeze(0);
    } else {
      stage.send(piece.out, stage.rank() + 1, kActivations);
    }
    open.push_back(std::move(piece));
  };
  const auto run_backward = [&] {
    const Piece piece = std::move(open.front());
    open.pop_front();
    const c10::DeviceType device = tokens.device().type();
    const AutocastAs no_autocast(device, false, at::autocast::get_autocast_dtype(device));
    std::vector<at::Tensor> given;  // of a loss: 1
    if (!is_last) {
      given.push_back(stage.received(stage.rank() + 1, kGradients).to(piece.out.scalar_type()));
    }
    autograd::variable_list wanted(stage.parameters().begin(), stage.parameters().end());
    if (!is_first) wanted.push_back(piece.in);
    autograd::variable_list gradients = autograd::grad({piece.out}, wanted, given);
    if (!is_first) {
      stage.send(gradients.back(), stage.rank() - 1, kGradients);
      gradients.pop_back();
    }
    if (found->gradients.empty()) {
      found->gradients = std::move(gradients);
    } else {
      for (size_t p = 0; p < gradients.size(); ++p) found->gradients[p].add_(gradients[p]);
    }
  };

  // As many as there are stages behind this one go ahead of the first backward pass.
  const int64_t ahead = std::min<int64_t>(stage.size() - 1 - stage.rank(), micro_batches);
  for (int64_t i = 0; i < ahead; ++i) run_forward(i);
  for (int64_t i = ahead; i < micro_batches; ++i) {
    run_forward(i);
    run_backward();
  }
  while (!open.empty()) run_backward();
  stage.wait_for_sent();
  if (!is_last) loss = at::zeros({}, stage.parameters().front().options().dtype(at::kFloat));
  const Clock::time_point end = Clock::now();
  const at::Tensor shared = from_last_stage(loss, network);
  if (time != nullptr) {
    time->waited += stage.waited() + seconds_since(end);
    time->seconds += seconds_since(start);
  }
  return KnownLoss::apply(shared, found, at::TensorList(stage.parameters()));
}

}  // namespace ffkit
