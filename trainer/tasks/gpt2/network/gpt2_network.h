// GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019) under Hugging
// Face's names, whole or a part of it:
//
//   tokens ─▶ wte + wpe ─▶ blocks ─▶ ln_f ─▶ wte^T ─▶ logits
//   block:  x += attention(ln_1(x)), x += mlp(ln_2(x))
//
// Of T processes along "tensor", each has a T-th of the heads, of the mlp's inner width and of the
// vocabulary (Shoeybi et al., "Megatron-LM", 2019); of P along "pipeline", each has the blocks of
// its stage, the first one the embeddings, and the last one ln_f and wte once more.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/trainer/peers.h>
#include <ffkit/trainer/task.h>

#include "tasks/gpt2/network/gpt2_config.h"

namespace ffkit {

// A number that depends on all of `parts`.
uint64_t key_of_parts(std::initializer_list<uint64_t> parts);

// The processes that compute the network together.
struct Gpt2Peers {
  std::shared_ptr<Peers> tensor = std::make_shared<Peers>();
  std::shared_ptr<Peers> pipeline = std::make_shared<Peers>();

  // Whether each process along "tensor" has a part of the positions outside attention and mlp: of
  // norms, dropout and the residual stream (Korthikanti et al., 2022).
  bool shares_positions = false;

  bool is_first() const { return pipeline->rank() == 0; }
  bool is_last() const { return pipeline->rank() + 1 == pipeline->world_size(); }
};

// Keys and values of the positions so far, for generation: of each block [B, heads, at most
// `capacity`, width / heads].
class KeyValueCache {
 public:
  explicit KeyValueCache(int64_t capacity) : capacity_(capacity) {}
  int64_t length() const { return length_; }
  int64_t capacity() const { return capacity_; }
  // Appends keys and values of block `layer`; gives back all of them.
  void append(int64_t layer, at::Tensor& keys, at::Tensor& values);
  // Call it after the last block: there are `count` positions more.
  void advance(int64_t count) { length_ += count; }

 private:
  struct Layer {
    at::Tensor keys, values;
  };
  int64_t capacity_;
  int64_t length_ = 0;
  std::vector<Layer> layers_;
};

class Gpt2Network : public torch::nn::Module {
 public:
  // Draws the weights: normal with deviation 0.02, what is added to the residual stream with 0.02 /
  // sqrt(2 layers); biases 0. The same numbers whatever part of the network it is. Throws
  // Error(invalid_argument) when config or peers make no network (gpt2_problem(), part_problem()).
  // `draws` false: weights are not set, for those that are read.
  explicit Gpt2Network(const Gpt2Config& config, Gpt2Peers peers = {}, bool draws = true);

  // What a forward pass needs beside its input.
  struct Pass {
    std::optional<uint64_t> dropout_key = {};  // dropout is drawn from it; none: no dropout
    bool recompute = false;                    // blocks are computed again in the backward pass
    KeyValueCache* cache = nullptr;            // of the positions before, for generation
    at::Tensor positions = {};  // [B, S] i64; undefined: 0 .. S - 1 behind the cache's
    // [B, 1, S, past + S] bool: which positions each one sees; undefined: itself and all before.
    at::Tensor mask = {};
  };
  // How many of S positions a process has outside attention and mlp: S, or with
  // peers.shares_positions its share, of which the following functions' width is [B, own S, width].
  int64_t own_positions(int64_t length) const {
    return peers_.shares_positions ? length / peers_.tensor->world_size() : length;
  }
  // tokens [B, S] i64, S at most config.positions -> [B, S, width]. First stage alone.
  at::Tensor embed(const at::Tensor& tokens, const Pass& pass);
  // [B, S, width] through the blocks of this stage.
  at::Tensor blocks(at::Tensor x, const Pass& pass);
  // The sum over positions of the next token's cross entropy: x [B, S, width], targets [B, S]
  // (next_token_loss). Last stage alone.
  at::Tensor loss_sum(const at::Tensor& x, const at::Tensor& targets);
  // [B, S, width] -> [B, S, vocabulary], whole on each process along "tensor". Without gradients
  // where there are several, and not where these share positions. Last stage alone.
  at::Tensor logits(const at::Tensor& x);

  const Gpt2Config& config() const { return config_; }
  const Gpt2Peers& peers() const { return peers_; }

 private:
  struct Affine;
  struct Attention;
  struct Mlp;
  struct Block;
  struct Transformer;

  const Gpt2Config config_;
  const Gpt2Peers peers_;
  std::shared_ptr<Transformer> transformer_;
};

// Why a network cannot be divided so, as a sentence; empty: it can.
std::string part_problem(const Gpt2Config& config, int64_t tensor, int64_t pipeline);

// The share of a whole parameter that `rank` of `size` processes along "tensor" has. `name`:
// "transformer.h.0.attn.c_attn.weight".
TensorCut tensor_cut(const std::string& name, at::IntArrayRef shape, int rank, int size);

}  // namespace ffkit
