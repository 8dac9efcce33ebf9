#include "tasks/gpt2/network/gpt2_network.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

#include "base/mix64.h"
#include "ops/recompute.h"
#include "tasks/gpt2/network/next_token_loss.h"

namespace ffkit {

uint64_t key_of_parts(std::initializer_list<uint64_t> parts) {
  uint64_t key = 0;
  for (const uint64_t part : parts) key = mix64(key ^ part);
  return key;
}

namespace {

// RandomSection: what is drawn while it lives comes from a key of its own, and the generator is
// left as it was. So dropout of a layer can be drawn again for its backward pass, and is the same
// on whichever process computes the layer.
class RandomSection {
 public:
  // Nothing without a key.
  RandomSection(c10::Device device, std::optional<uint64_t> key) {
    if (!key) return;
    generator_ = at::globalContext().defaultGenerator(device);
    const std::scoped_lock lock(generator_.mutex());
    before_ = generator_.get_state();
    generator_.set_current_seed(*key);
  }
  ~RandomSection() {
    if (!generator_.defined()) return;
    const std::scoped_lock lock(generator_.mutex());
    generator_.set_state(before_);
  }
  RandomSection(const RandomSection&) = delete;
  RandomSection& operator=(const RandomSection&) = delete;

 private:
  at::Generator generator_;  // undefined without a key
  at::Tensor before_;
};

constexpr double kWeightDeviation = 0.02;

// Streams of a block's dropout.
enum : uint64_t { kAfterAttention, kAfterMlp, kEmbedding, kInAttention };

// Makes this process's part of parameters as they are drawn for a whole network.
class ParameterMaker {
 public:
  ParameterMaker(const Gpt2Peers& peers, bool draws) : peer_(*peers.tensor), draws_(draws) {}
  at::Tensor normal(const std::string& name, at::IntArrayRef shape, double deviation) const {
    at::Tensor whole = draws_ ? at::empty(shape).normal_(0, deviation) : at::zeros(shape);
    const at::Tensor part = part_of(whole, cut_of(name, shape));
    return part.is_same(whole) ? part : part.clone();
  }
  at::Tensor zeros(const std::string& name, int64_t size) const {
    return part_of(at::zeros({size}), cut_of(name, {size})).clone();
  }

 private:
  TensorCut cut_of(const std::string& name, at::IntArrayRef shape) const {
    return tensor_cut(name, shape, peer_.rank(), peer_.world_size());
  }

  const Peers& peer_;
  const bool draws_;
};

// x [..., in] through a weight [in, out], as Hugging Face's Conv1D.
at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(1);
  return at::addmm(bias, x.reshape({-1, weight.size(0)}), weight).view(shape);
}

// What all processes along "tensor" compute summands of: the sum, at the own positions.
at::Tensor leave_parallel(const at::Tensor& x, const Gpt2Peers& peers) {
  return peers.shares_positions ? sum_share_of_peers(x, 1, *peers.tensor)
                                : sum_of_peers(x, *peers.tensor);
}

// The other way round: the input of what they compute together, at all positions.
at::Tensor enter_parallel(const at::Tensor& x, const Gpt2Peers& peers) {
  return peers.shares_positions ? gathered_from_peers(x, 1, *peers.tensor)
                                : with_summed_gradient(x, *peers.tensor);
}

// affine() where each process has some rows of the weight.
at::Tensor affine_of_peers(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const Gpt2Peers& peers) {
  if (peers.tensor->world_size() == 1) return affine(x, weight, bias);
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(1);
  const at::Tensor own = at::mm(x.reshape({-1, weight.size(0)}), weight).view(shape);
  return leave_parallel(own.to(bias.scalar_type()), peers) + bias;
}

// What dropout outside attention and mlp is drawn from: other positions, other numbers.
std::optional<uint64_t> key_of_positions(std::optional<uint64_t> key, const Gpt2Peers& peers) {
  if (!key || !peers.shares_positions) return key;
  return key_of_parts({*key, 1 + static_cast<uint64_t>(peers.tensor->rank())});
}

at::Tensor dropped(const at::Tensor& x, double probability, std::optional<uint64_t> key,
                   uint64_t layer, uint64_t stream) {
  if (!key || probability == 0) return x;
  const RandomSection section(x.device(), key_of_parts({*key, layer, stream}));
  return at::dropout(x, probability, /*train=*/true);
}

// Where a parameter is divided along "tensor"; -1: it is not.
int64_t divided_dimension(const std::string& name) {
  if (name.ends_with(".wte.weight")) return 0;
  if (name.ends_with(".attn.c_attn.weight") || name.ends_with(".mlp.c_fc.weight")) return 1;
  if (name.ends_with(".attn.c_attn.bias") || name.ends_with(".mlp.c_fc.bias")) return 0;
  if (name.ends_with(".c_proj.weight")) return 0;
  return -1;
}

int64_t begin_of_share(int64_t total, int64_t rank, int64_t size) {
  return total * rank / size;
}

// The share of a network that a process has.
struct Gpt2Share {
  int64_t first_block = 0, end_block = 0;  // of its stage
  int64_t first_token = 0, end_token = 0;  // of the vocabulary
};

Gpt2Share gpt2_share(const Gpt2Config& config, const Gpt2Peers& peers) {
  const int64_t stage = peers.pipeline->rank(), stages = peers.pipeline->world_size();
  const int64_t rank = peers.tensor->rank(), size = peers.tensor->world_size();
  return {.first_block = begin_of_share(config.layers, stage, stages),
          .end_block = begin_of_share(config.layers, stage + 1, stages),
          .first_token = begin_of_share(config.vocabulary, rank, size),
          .end_token = begin_of_share(config.vocabulary, rank + 1, size)};
}

}  // namespace

TensorCut tensor_cut(const std::string& name, at::IntArrayRef shape, int rank, int size) {
  TensorCut cut{.dimension = divided_dimension(name)};
  if (cut.dimension < 0 || size == 1) return {};
  // Query, key and value lie behind each other, and each of them is divided.
  const int64_t parts = name.find(".c_attn.") == std::string::npos ? 1 : 3;
  const int64_t total = shape[cut.dimension] / parts;
  const int64_t begin = begin_of_share(total, rank, size);
  for (int64_t i = 0; i < parts; ++i) {
    cut.runs.push_back(
        {.begin = i * total + begin, .count = begin_of_share(total, rank + 1, size) - begin});
  }
  return cut;
}

std::string part_problem(const Gpt2Config& config, int64_t tensor, int64_t pipeline) {
  if (config.heads % tensor != 0) {
    return fmt::format("{} heads cannot be divided among {} processes of {}; give a divisor of {}",
                       config.heads, tensor, option_name("tensor_parallel"), config.heads);
  }
  if (config.layers < pipeline) {
    return fmt::format("{} layers cannot be divided among {} processes of {}; give {} or fewer",
                       config.layers, pipeline, option_name("pipeline_parallel"), config.layers);
  }
  if (config.vocabulary < tensor) {
    return fmt::format("a vocabulary of {} cannot be divided among {} processes of {}",
                       config.vocabulary, tensor, option_name("tensor_parallel"));
  }
  return {};
}

void KeyValueCache::append(int64_t layer, at::Tensor& keys, at::Tensor& values) {
  if (std::ssize(layers_) <= layer) layers_.resize(layer + 1);
  Layer& own = layers_[layer];
  if (!own.keys.defined()) {
    std::vector<int64_t> shape = keys.sizes().vec();
    shape[2] = capacity_;
    own.keys = at::empty(shape, keys.options());
    own.values = at::empty(shape, values.options());
  }
  const int64_t count = keys.size(2);
  own.keys.narrow(2, length_, count).copy_(keys);
  own.values.narrow(2, length_, count).copy_(values);
  keys = own.keys.narrow(2, 0, length_ + count);
  values = own.values.narrow(2, 0, length_ + count);
}

struct Gpt2Network::Affine : torch::nn::Module {
  Affine(at::Tensor initial_weight, at::Tensor initial_bias) {
    weight = register_parameter("weight", std::move(initial_weight));
    if (initial_bias.defined()) bias = register_parameter("bias", std::move(initial_bias));
  }
  at::Tensor weight, bias;
};

struct Gpt2Network::Attention : torch::nn::Module {
  std::shared_ptr<Affine> c_attn, c_proj;
};

struct Gpt2Network::Mlp : torch::nn::Module {
  std::shared_ptr<Affine> c_fc, c_proj;
};

struct Gpt2Network::Block : torch::nn::Module {
  Block(const Gpt2Config& config, const Gpt2Peers& peers, const ParameterMaker& maker,
        int64_t layer)
      : config_(config), peers_(peers), tensor_(*peers.tensor), layer_(layer) {
    const int64_t e = config.width;
    const double residual = kWeightDeviation / std::sqrt(2.0 * config.layers);
    const auto make = [&](const std::string& name, int64_t in, int64_t out, double deviation) {
      return std::make_shared<Affine>(maker.normal(name + ".weight", {in, out}, deviation),
                                      maker.zeros(name + ".bias", out));
    };
    ln_1 = register_module("ln_1", norm_of(e));
    attn = register_module("attn", std::make_shared<Attention>());
    attn->c_attn =
        attn->register_module("c_attn", make("x.attn.c_attn", e, 3 * e, kWeightDeviation));
    attn->c_proj = attn->register_module("c_proj", make("x.attn.c_proj", e, e, residual));
    ln_2 = register_module("ln_2", norm_of(e));
    mlp = register_module("mlp", std::make_shared<Mlp>());
    mlp->c_fc = mlp->register_module("c_fc", make("x.mlp.c_fc", e, 4 * e, kWeightDeviation));
    mlp->c_proj = mlp->register_module("c_proj", make("x.mlp.c_proj", 4 * e, e, residual));
  }

  static std::shared_ptr<Affine> norm_of(int64_t width) {
    return std::make_shared<Affine>(at::ones({width}), at::zeros({width}));
  }

  at::Tensor norm(const at::Tensor& x, const Affine& own) const {
    return enter_parallel(
        at::layer_norm(x, {config_.width}, own.weight, own.bias, config_.norm_epsilon), peers_);
  }

  at::Tensor attention(const at::Tensor& x, const Pass& pass, int64_t cache_layer) const {
    const int64_t batch = x.size(0), length = x.size(1);
    const int64_t heads = config_.heads / tensor_.world_size();
    const int64_t head_width = config_.width / config_.heads;
    const std::vector<at::Tensor> parts =
        affine(x, attn->c_attn->weight, attn->c_attn->bias).chunk(3, 2);
    const auto by_head = [&](const at::Tensor& t) {
      return t.view({batch, length, heads, head_width}).transpose(1, 2);
    };
    const at::Tensor queries = by_head(parts[0]);
    at::Tensor keys = by_head(parts[1]), values = by_head(parts[2]);
    if (pass.cache != nullptr) pass.cache->append(cache_layer, keys, values);
    const bool is_causal = !pass.mask.defined() && length > 1;
    const double dropout = pass.dropout_key ? config_.dropout : 0;
    std::optional<uint64_t> key;
    if (dropout > 0) {
      // Other heads on each process, other numbers.
      key = key_of_parts({*pass.dropout_key, static_cast<uint64_t>(layer_),
                          kInAttention + static_cast<uint64_t>(tensor_.rank())});
    }
    const RandomSection section(x.device(), key);
    const at::Tensor out = at::scaled_dot_product_attention(
        queries, keys, values,
        pass.mask.defined() ? std::optional<at::Tensor>(pass.mask) : std::nullopt, dropout,
        is_causal);
    return out.transpose(1, 2).reshape({batch, length, heads * head_width});
  }

  at::Tensor forward(at::Tensor x, const Pass& pass, int64_t cache_layer) const {
    const at::Tensor a = affine_of_peers(attention(norm(x, *ln_1), pass, cache_layer),
                                         attn->c_proj->weight, attn->c_proj->bias, peers_);
    const std::optional<uint64_t> key = key_of_positions(pass.dropout_key, peers_);
    x = x + dropped(a, config_.dropout, key, layer_, kAfterAttention);
    const at::Tensor inner =
        at::gelu(affine(norm(x, *ln_2), mlp->c_fc->weight, mlp->c_fc->bias), "tanh");
    const at::Tensor m = affine_of_peers(inner, mlp->c_proj->weight, mlp->c_proj->bias, peers_);
    return x + dropped(m, config_.dropout, key, layer_, kAfterMlp);
  }

  std::shared_ptr<Affine> ln_1, ln_2;
  std::shared_ptr<Attention> attn;
  std::shared_ptr<Mlp> mlp;

 private:
  const Gpt2Config config_;
  const Gpt2Peers peers_;
  Peers& tensor_;
  const int64_t layer_;
};

struct Gpt2Network::Transformer : torch::nn::Module {
  std::shared_ptr<Affine> wte, wpe, ln_f;  // null where this part has none
  std::shared_ptr<torch::nn::Module> h;
  std::vector<std::shared_ptr<Block>> blocks;
};

Gpt2Network::Gpt2Network(const Gpt2Config& config, Gpt2Peers peers, bool draws)
    : config_(config), peers_(std::move(peers)) {
  std::string problem = gpt2_problem(config_);
  if (problem.empty())
    problem = part_problem(config_, peers_.tensor->world_size(), peers_.pipeline->world_size());
  if (!problem.empty()) throw Error(ErrorCode::invalid_argument, problem);
  const at::NoGradGuard no_grad;
  transformer_ = register_module("transformer", std::make_shared<Transformer>());
  Transformer& t = *transformer_;
  const ParameterMaker maker(peers_, draws);
  const auto embedding = [&](const char* name, int64_t rows) {
    return std::make_shared<Affine>(maker.normal(name, {rows, config_.width}, kWeightDeviation),
                                    at::Tensor());
  };
  // All draw all numbers and keep their own.
  const auto wte = embedding("x.wte.weight", config_.vocabulary);
  const auto wpe = embedding("x.wpe.weight", config_.positions);
  if (peers_.is_first() || peers_.is_last()) t.wte = t.register_module("wte", wte);
  if (peers_.is_first()) t.wpe = t.register_module("wpe", wpe);
  t.h = t.register_module("h", std::make_shared<torch::nn::Module>());
  const Gpt2Share share = gpt2_share(config_, peers_);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    auto block = std::make_shared<Block>(config_, peers_, maker, layer);
    if (layer < share.first_block || layer >= share.end_block) continue;
    t.blocks.push_back(t.h->register_module(std::to_string(layer), std::move(block)));
  }
  if (peers_.is_last()) t.ln_f = t.register_module("ln_f", Block::norm_of(config_.width));
}

at::Tensor Gpt2Network::embed(const at::Tensor& tokens, const Pass& pass) {
  const at::Tensor& weight = transformer_->wte->weight;
  at::Tensor x;
  if (peers_.tensor->world_size() == 1) {
    x = at::embedding(weight, tokens);
  } else {
    const at::Tensor local = tokens - gpt2_share(config_, peers_).first_token;
    const at::Tensor is_own = local.ge(0) & local.lt(weight.size(0));
    x = at::embedding(weight, at::where(is_own, local, 0)) * is_own.unsqueeze(-1);
    x = leave_parallel(x, peers_);
  }
  const int64_t past = pass.cache != nullptr ? pass.cache->length() : 0;
  const int64_t count = own_positions(tokens.size(1));
  const int64_t first = past + (peers_.shares_positions ? peers_.tensor->rank() * count : 0);
  x = x + (pass.positions.defined() ? at::embedding(transformer_->wpe->weight, pass.positions)
                                    : transformer_->wpe->weight.narrow(0, first, count));
  return dropped(x, config_.dropout, key_of_positions(pass.dropout_key, peers_), 0, kEmbedding);
}

at::Tensor Gpt2Network::blocks(at::Tensor x, const Pass& pass) {
  const int64_t length = x.size(1);
  for (size_t i = 0; i < transformer_->blocks.size(); ++i) {
    const std::shared_ptr<Block>& block = transformer_->blocks[i];
    if (!pass.recompute) {
      x = block->forward(x, pass, i);
      continue;
    }
    x = recomputed([block, pass](const at::Tensor& in) { return block->forward(in, pass, 0); }, x,
                   block->parameters());
  }
  if (pass.cache != nullptr) pass.cache->advance(length);
  return x;
}

at::Tensor Gpt2Network::loss_sum(const at::Tensor& x, const at::Tensor& targets) {
  const Affine& norm = *transformer_->ln_f;
  const at::Tensor hidden = enter_parallel(
      at::layer_norm(x, {config_.width}, norm.weight, norm.bias, config_.norm_epsilon), peers_);
  return next_token_loss(hidden.reshape({-1, config_.width}), transformer_->wte->weight,
                         targets.reshape({-1}), gpt2_share(config_, peers_).first_token,
                         *peers_.tensor);
}

at::Tensor Gpt2Network::logits(const at::Tensor& x) {
  const Affine& norm = *transformer_->ln_f;
  const at::Tensor hidden =
      at::layer_norm(x, {config_.width}, norm.weight, norm.bias, config_.norm_epsilon);
  const at::Tensor own = at::matmul(hidden, transformer_->wte->weight.t());
  if (peers_.tensor->world_size() == 1) return own;
  // Each writes its columns, and the sum has all.
  const Gpt2Share share = gpt2_share(config_, peers_);
  std::vector<int64_t> shape = own.sizes().vec();
  shape.back() = config_.vocabulary;
  at::Tensor all = at::zeros(shape, own.options().dtype(at::kFloat));
  all.narrow(-1, share.first_token, share.end_token - share.first_token).copy_(own);
  peers_.tensor->sum(all);
  return all;
}

}  // namespace ffkit
