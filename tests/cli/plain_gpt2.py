"""GPT-2 in plain torch: continues a text, a token a byte, always with the likeliest one.

    plain_gpt2.py pytorch_model.bin HEADS TEXT COUNT
"""
import math
import sys

import torch


def forward(w, heads, tokens):
    layer_norm = torch.nn.functional.layer_norm
    count, width = len(tokens), w["transformer.wte.weight"].shape[1]
    x = w["transformer.wte.weight"][tokens] + w["transformer.wpe.weight"][:count]

    def norm(name, x):
        return layer_norm(x, (width,), w[name + ".weight"], w[name + ".bias"], 1e-5)

    def affine(name, x):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    for layer in range(sum(name.endswith("ln_1.weight") for name in w)):
        h = f"transformer.h.{layer}."
        q, k, v = (t.view(count, heads, -1).transpose(0, 1) for t in affine(h + "attn.c_attn", norm(h + "ln_1", x)).split(width, 1))
        scores = (q @ k.transpose(1, 2) / math.sqrt(width // heads)).masked_fill(torch.ones(count, count, dtype=bool).triu(1), -math.inf)
        x = x + affine(h + "attn.c_proj", (scores.softmax(-1) @ v).transpose(0, 1).reshape(count, width))
        m = affine(h + "mlp.c_fc", norm(h + "ln_2", x))
        m = 0.5 * m * (1 + torch.tanh(math.sqrt(2 / math.pi) * (m + 0.044715 * m**3)))
        x = x + affine(h + "mlp.c_proj", m)
    return norm("transformer.ln_f", x) @ w["transformer.wte.weight"].T


weights = torch.load(sys.argv[1], weights_only=True)
sequence = list(sys.argv[3].encode())
for _ in range(int(sys.argv[4])):
    sequence.append(int(forward(weights, int(sys.argv[2]), torch.tensor(sequence))[-1].argmax()))
    if sequence[-1] == 256:
        break
print(bytes(token for token in sequence if token < 256).decode(errors="replace"))
