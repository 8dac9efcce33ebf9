#include "tasks/gpt2/network/gpt2_network.h"

#include <ATen/CPUGeneratorImpl.h>

#include <ffkit/base/option_names.h>

#include "distributed/communicator.h"
#include "support/world.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

constexpr Gpt2Config kSmall = {
    .layers = 2, .heads = 4, .width = 16, .positions = 12, .vocabulary = 37, .dropout = 0.2};

// Of a whole network, by name.
std::map<std::string, at::Tensor> formula_weights() {
  const Gpt2Network network(kSmall);
  std::map<std::string, at::Tensor> weights;
  for (const auto& item : network.named_parameters()) weights[item.key()] = item.value();
  double seed = 0;
  for (auto& [name, tensor] : weights) {
    at::Tensor numbers = testing::formula_numbers(tensor.sizes(), seed++);
    const bool is_embedding =
        name.find("wte") != std::string::npos || name.find("wpe") != std::string::npos;
    if (tensor.dim() > 1) {
      if (!is_embedding) numbers = numbers * (3 / std::sqrt(double(tensor.size(0))));
    } else if (name.ends_with("weight")) {
      numbers = numbers * 0.4 + 1;
    } else {
      numbers = numbers * 0.2;
    }
    tensor = numbers;
  }
  return weights;
}

// In float64: there the processor's kernels agree.
std::shared_ptr<Gpt2Network> formula_gpt2(const Gpt2Peers& peers = {}) {
  auto network = std::make_shared<Gpt2Network>(kSmall, peers);
  network->to(at::kDouble);
  const at::NoGradGuard no_grad;
  const std::map<std::string, at::Tensor> weights = formula_weights();
  for (auto& item : network->named_parameters()) {
    const at::Tensor& whole = weights.at(item.key());
    item.value().copy_(part_of(whole, tensor_cut(item.key(), whole.sizes(), peers.tensor->rank(),
                                                 peers.tensor->world_size())));
  }
  return network;
}

at::Tensor gpt2_tokens() {
  at::Tensor out = at::zeros({2, 11}, at::kLong);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t i = 0; i < 11; ++i) out[b][i] = (7 * i * i + 3 * i + b * 11 + 5) % 37;
  }
  return out;
}

at::Tensor gpt2_loss(Gpt2Network& network, const Gpt2Network::Pass& pass = {}) {
  const at::Tensor tokens = gpt2_tokens();
  return network.loss_sum(network.blocks(network.embed(tokens.narrow(1, 0, 10), pass), pass),
                          tokens.narrow(1, 1, 10));
}

std::map<std::string, at::Tensor> gpt2_gradients(Gpt2Network& network) {
  std::map<std::string, at::Tensor> out;
  for (auto& item : network.named_parameters()) out[item.key()] = item.value().grad().clone();
  return out;
}

void expect_close(const std::map<std::string, at::Tensor>& a,
                  const std::map<std::string, at::Tensor>& b, double within) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    ASSERT_EQ(tensor.sizes(), b.at(name).sizes()) << name;
    EXPECT_LT((tensor - b.at(name)).abs().max().item<double>(), within) << name;
  }
}

// A place among processes that are not there.
struct PlaceOfRank final : Peers {
  PlaceOfRank(int own, int of) : own_(own), of_(of) {}
  int rank() const override { return own_; }
  int world_size() const override { return of_; }
  int own_, of_;
};

// What a plain GPT-2 in Python, and transformers' GPT2LMHeadModel, compute with these weights in
// float64.
TEST(Gpt2Network, ComputesGoldenNumbers) {
  const auto network = formula_gpt2();
  const at::Tensor x = network->blocks(network->embed(gpt2_tokens().narrow(1, 0, 10), {}), {});
  const at::Tensor logits = network->logits(x);
  constexpr std::array<double, 6> kLogits = {-0.950206838682, -0.765662091274, -0.579543959696,
                                             -1.140350281277, -2.102603830028, 1.388679500634};
  for (size_t i = 0; i < kLogits.size(); ++i)
    EXPECT_NEAR(logits[1][9][int64_t(i)].item<double>(), kLogits[i], 1e-11) << i;
  EXPECT_NEAR(logits.norm().item<double>(), 30.584985787265296, 1e-10);

  const at::Tensor loss = gpt2_loss(*network);
  EXPECT_NEAR(loss.item<double>(), 79.99843542756865, 1e-9);
  loss.backward();
  const std::map<std::string, at::Tensor> gradients = gpt2_gradients(*network);
  const std::map<std::string, double> expected = {
      {"transformer.wte.weight", 25.42121632742251},
      {"transformer.wpe.weight", 17.476307294419},
      {"transformer.h.0.attn.c_attn.weight", 24.59820132457001},
      {"transformer.h.1.mlp.c_proj.bias", 4.786176385796748},
      {"transformer.h.1.ln_2.weight", 1.8884086523283623},
      {"transformer.ln_f.bias", 6.156498533085291}};
  for (const auto& [name, norm] : expected)
    EXPECT_NEAR(gradients.at(name).norm().item<double>(), norm, 1e-9) << name;
}

// Two and three processes with a part of the network each, and a vocabulary that they cannot share
// evenly.
TEST(Gpt2Network, IsDividedAmongProcesses) {
  const auto whole = formula_gpt2();
  const at::Tensor loss = gpt2_loss(*whole);
  loss.backward();
  const std::map<std::string, at::Tensor> expected = gpt2_gradients(*whole);
  const at::Tensor logits =
      whole->logits(whole->blocks(whole->embed(gpt2_tokens().narrow(1, 0, 10), {}), {}));
  for (const int size : {2, 4}) {
    std::vector<std::map<std::string, at::Tensor>> parts{size_t(size)};
    testing::run_world(size, [&](Communicator& world) {
      const auto network = formula_gpt2({.tensor = std::make_shared<CommunicatorPeers>(world)});
      const at::Tensor own = gpt2_loss(*network);
      EXPECT_NEAR(own.item<double>(), loss.item<double>(), 1e-9);
      own.backward();
      parts[size_t(world.rank())] = gpt2_gradients(*network);
      const at::NoGradGuard no_grad;
      const at::Tensor x = network->blocks(network->embed(gpt2_tokens().narrow(1, 0, 10), {}), {});
      EXPECT_LT((network->logits(x) - logits).abs().max().item<double>(),
                1e-5);  // summed in float32
    });
    std::map<std::string, at::Tensor> joined;
    for (const auto& [name, part] : parts[0]) {
      joined[name] = part.clone();
      const at::IntArrayRef shape = expected.at(name).sizes();
      if (part.sizes() == shape) continue;
      joined[name] = at::zeros(shape, part.options());
      for (int rank = 0; rank < size; ++rank) {
        const TensorCut cut = tensor_cut(name, shape, rank, size);
        int64_t begin = 0;
        for (const TensorCut::Run& run : cut.runs) {
          joined[name]
              .narrow(cut.dimension, run.begin, run.count)
              .copy_(parts[size_t(rank)].at(name).narrow(cut.dimension, begin, run.count));
          begin += run.count;
        }
      }
    }
    expect_close(joined, expected, 1e-9);
  }
}

TEST(Gpt2Network, DrawsTheSameNumbersForEachPart) {
  at::manual_seed(3);
  const Gpt2Network whole(kSmall);
  const auto parameters = whole.named_parameters();
  EXPECT_NEAR(parameters["transformer.wte.weight"].std().item<double>(), 0.02, 0.002);
  EXPECT_NEAR(parameters["transformer.h.1.mlp.c_proj.weight"].std().item<double>(), 0.01, 0.001);
  EXPECT_EQ(parameters["transformer.h.0.attn.c_attn.bias"].abs().max().item<double>(), 0);
  EXPECT_EQ(kSmall.num_parameters(), [&] {
    int64_t sum = 0;
    for (const auto& item : parameters) sum += item.value().numel();
    return sum;
  }());

  at::manual_seed(3);
  const Gpt2Network part(kSmall, {.tensor = std::make_shared<PlaceOfRank>(1, 2),
                                  .pipeline = std::make_shared<PlaceOfRank>(1, 2)});
  const auto own = part.named_parameters();
  EXPECT_FALSE(own.contains("transformer.wpe.weight"));
  EXPECT_FALSE(own.contains("transformer.h.0.ln_1.weight"));
  EXPECT_EQ(own.size(), 15u);  // a block, ln_f and wte
  for (const auto& item : own) {
    const at::Tensor& all = parameters[item.key()];
    EXPECT_TRUE(at::equal(item.value(), part_of(all, tensor_cut(item.key(), all.sizes(), 1, 2))))
        << item.key();
  }
}

TEST(Gpt2Network, DrawsDropoutFromItsKeyAndComputesBlocksTwice) {
  const auto network = formula_gpt2();
  at::manual_seed(5);
  const at::Tensor before = at::detail::getDefaultCPUGenerator().get_state();
  const auto run = [&](const Gpt2Network::Pass& pass) {
    network->zero_grad();
    const at::Tensor loss = gpt2_loss(*network, pass);
    loss.backward();
    return std::pair(loss.item<double>(), gpt2_gradients(*network));
  };
  const auto [plain, plain_gradients] = run({});
  const auto [dropped, dropped_gradients] = run({.dropout_key = 7});
  EXPECT_NE(plain, dropped);
  EXPECT_NE(run({.dropout_key = 8}).first, dropped);
  const auto [again, again_gradients] = run({.dropout_key = 7, .recompute = true});
  EXPECT_EQ(again, dropped);
  expect_close(again_gradients, dropped_gradients, 1e-12);
  expect_close(run({.recompute = true}).second, plain_gradients, 1e-12);
  EXPECT_TRUE(at::equal(before, at::detail::getDefaultCPUGenerator().get_state()));
}

// Where processes share the positions, blocks that are computed twice have the same gradients, and
// each process drops others.
TEST(Gpt2Network, SharesThePositionsOutsideAttentionAndMlp) {
  const at::Tensor tokens = gpt2_tokens().narrow(1, 0, 10);
  testing::run_world(2, [&](Communicator& world) {
    const auto network = formula_gpt2(
        {.tensor = std::make_shared<CommunicatorPeers>(world), .shares_positions = true});
    const auto run = [&](const Gpt2Network::Pass& pass) {
      network->zero_grad();
      const at::Tensor x = network->blocks(network->embed(tokens, pass), pass);
      EXPECT_EQ(x.sizes(), (std::vector<int64_t>{2, 5, kSmall.width}));
      network->loss_sum(x, tokens).backward();
      return gpt2_gradients(*network);
    };
    const auto once = run({});
    expect_close(run({.recompute = true}), once, 1e-12);
  });
  // Alone: threads of one process have one generator.
  std::vector<at::Tensor> dropped;
  for (const int rank : {0, 0, 1}) {
    const auto network =
        formula_gpt2({.tensor = std::make_shared<PlaceOfRank>(rank, 2), .shares_positions = true});
    dropped.push_back(network->embed(tokens, {.dropout_key = 7}).detach().eq(0));
  }
  EXPECT_GT(dropped[0].sum().item<int64_t>(), 0);
  EXPECT_TRUE(dropped[0].equal(dropped[1]));
  EXPECT_FALSE(dropped[0].equal(dropped[2]));
}

// Positions one after the other, with the keys and values of those before, and rows of other
// lengths beside each other.
TEST(Gpt2Network, GoesOnFromItsCache) {
  const at::NoGradGuard no_grad;
  const auto network = formula_gpt2();
  const at::Tensor tokens = gpt2_tokens();
  const auto logits = [&](const at::Tensor& t, const Gpt2Network::Pass& pass) {
    return network->logits(network->blocks(network->embed(t, pass), pass));
  };
  const at::Tensor expected = logits(tokens, {});
  KeyValueCache cache(11);
  const at::Tensor first = logits(tokens.narrow(1, 0, 4), {.cache = &cache});
  EXPECT_LT((first - expected.narrow(1, 0, 4)).abs().max().item<double>(), 1e-12);
  for (int64_t i = 4; i < 11; ++i) {
    const at::Tensor one = logits(tokens.narrow(1, i, 1), {.cache = &cache});
    EXPECT_LT((one - expected.narrow(1, i, 1)).abs().max().item<double>(), 1e-12) << i;
  }
  EXPECT_EQ(cache.length(), 11);

  // The second row without its last three tokens, behind three that nothing sees.
  at::Tensor padded = tokens.clone();
  padded[1].narrow(0, 3, 8).copy_(tokens[1].narrow(0, 0, 8));
  at::Tensor positions = at::arange(11).expand({2, 11}).clone();
  positions[1].copy_((at::arange(11) - 3).clamp_min(0));
  at::Tensor mask = at::ones({2, 1, 11, 11}, at::kBool).tril();
  mask[1][0].narrow(1, 0, 3).fill_(false);
  mask[1][0].narrow(0, 0, 3).narrow(1, 0, 1).fill_(true);
  const at::Tensor both = logits(padded, {.positions = positions, .mask = mask});
  EXPECT_LT((both[0] - expected[0]).abs().max().item<double>(), 1e-12);
  EXPECT_LT((both[1].narrow(0, 3, 8) - expected[1].narrow(0, 0, 8)).abs().max().item<double>(),
            1e-12);
}

TEST(Gpt2Network, RefusesWhatCannotBeDivided) {
  EXPECT_ERROR(Gpt2Network({.heads = 5, .width = 16}), invalid_argument);
  const auto shown = [](const std::string& text) {
    return with_option_names(text, OptionStyle::command_line);
  };
  EXPECT_EQ(
      shown(part_problem(kSmall, 3, 1)),
      "4 heads cannot be divided among 3 processes of --tensor-parallel; give a divisor of 4");
  EXPECT_EQ(shown(part_problem(kSmall, 1, 3)),
            "2 layers cannot be divided among 3 processes of --pipeline-parallel; give 2 or fewer");
  EXPECT_EQ(part_problem(kSmall, 2, 2), "");
}

}  // namespace
}  // namespace ffkit
