#include "tasks/gpt2/network/gpt2_python.h"

#include <fmt/format.h>

namespace ffkit {

PythonModel gpt2_python(const Gpt2Config& config, int64_t context) {
  return {.packages = "torch transformers",
          .code = fmt::format(
              R"(import transformers

INPUTS = {{'tokens': torch.arange(2 * {0}).reshape(2, {0}) % {1}}}
OUTPUTS = ['logits']


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).logits


def make_model(weights):
    config = transformers.GPT2Config(
        n_layer={2}, n_head={3}, n_embd={4}, n_positions={5}, vocab_size={1}, layer_norm_epsilon={6},
        attn_implementation='eager', bos_token_id=None, eos_token_id=None)
    model = transformers.GPT2LMHeadModel(config)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= {{'lm_head.weight'}}, (missing, unexpected)
    model.tie_weights()
    return Logits(model)
)",
              context, config.vocabulary, config.layers, config.heads, config.width,
              config.positions, config.norm_epsilon)};
}

}  // namespace ffkit
