"""Compares ffgenerate with transformers' generate(), token by token, and fftrain's loss with transformers'.

    compare_generation.py FFGENERATE FFTRAIN FFCONVERT

Works in the current folder. Prints a line for each comparison and ends with status 1 where one differs.
"""
import json
import os
import re
import subprocess
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

ffgenerate, fftrain, ffconvert = sys.argv[1:]
END = "<|endoftext|>"
torch.set_num_threads(1)
failures = 0


def report(name, is_right, details=""):
    global failures
    failures += not is_right
    print("right" if is_right else "WRONG", name, "" if is_right else details)


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)


def byte_tokenizer(added=()):
    characters = [chr(b) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE else None for b in range(256)]
    others = iter(range(256))
    characters = [c or chr(256 + next(others)) for c in characters]
    vocabulary = {c: i for i, c in enumerate(characters)}
    for token in ("th", "the", "Ġthe"):
        vocabulary[token] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[("t", "h"), ("th", "e"), ("Ġ", "the")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in added])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)


def make(folder, tokenizer, generation=None, **changes):
    torch.manual_seed(3)
    config = GPT2Config(vocab_size=len(tokenizer), n_layer=2, n_head=2, n_embd=16, n_positions=64, initializer_range=0.2,
                        bos_token_id=259, eos_token_id=259)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        model.transformer.wpe.weight.mul_(3)  # else tokens repeat each other
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    os.remove(folder + "/generation_config.json")
    own = json.load(open(folder + "/config.json"))
    own.update(changes)
    json.dump(own, open(folder + "/config.json", "w"))
    if generation is not None:
        json.dump(generation, open(folder + "/generation_config.json", "w"))
    return GPT2LMHeadModel.from_pretrained(folder).eval()


PROMPTS = ["a", "the old tower", "on the other side of the", "zz z"]


def generated(model, tokenizer, prompts, **options):
    """Tokens behind each prompt, one prompt at a time."""
    out = []
    for prompt in prompts:
        ids = prompt if isinstance(prompt, list) else tokenizer(prompt).input_ids
        ids = torch.tensor([ids])
        made = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=24, pad_token_id=0,
                              tokenizer=tokenizer, **options)
        out.append(made[0, ids.shape[1]:].tolist())
    return out


def compare(name, folder, expected, *options, prompts=PROMPTS):
    words = [word for prompt in prompts for word in ("--prompt", prompt)]
    lines = run(ffgenerate, "--model", folder, "--max-tokens", 24, "--compute-threads", 1, "--json", "--quiet", *options, *words).stdout
    ours = [json.loads(line)["ids"] for line in lines.splitlines()]
    report(name, ours == expected, f"\n  ours   {ours}\n  theirs {expected}")


tokenizer = byte_tokenizer()
plain = make("plain", tokenizer, eos_token_id=None)
free = generated(plain, tokenizer, PROMPTS)
report("texts that nothing ends have all their tokens, of many kinds", all(len(ids) == 24 and len(set(ids)) > 12 for ids in free))
compare("no eos_token_id", "plain", free)
compare("one prompt at a time", "plain", free, "--batch-size", 1)
# Tokens that come, so that they can end the texts.
third, others = free[1][2], [free[0][5], free[2][9], free[3][7]]
for name, config, generation in [("a number in config.json", third, None), ("a list in config.json", others, None),
                                 ("a number in generation_config.json", None, {"eos_token_id": third}),
                                 ("generation_config.json before config.json", others, {"eos_token_id": [third]}),
                                 ("generation_config.json without it", third, {"bos_token_id": 1})]:
    model = make("ends", tokenizer, generation, eos_token_id=config)
    compare("eos_token_id: " + name, "ends", generated(model, tokenizer, PROMPTS))
    if generation:
        os.remove("ends/generation_config.json")

for penalty in (1.3, 0.8, 5):
    compare(f"repetition penalty {penalty}", "plain", generated(plain, tokenizer, PROMPTS, repetition_penalty=float(penalty)),
            "--repetition-penalty", penalty)
texts = [tokenizer.decode(ids) for ids in free]
stops = [stop for text in texts for stop in re.findall("[!-~]{2}", text)[1:2]]
expected = generated(plain, tokenizer, PROMPTS, stop_strings=stops)
report("some text ends with a stop string", any(len(ids) < 24 for ids in expected))
compare("stop strings", "plain", expected, *[word for stop in stops for word in ("--stop", stop)])

special = ["<|endoftext|>the", "a<|endoftext|>"]
compare("special tokens in prompts", "plain", generated(plain, tokenizer, special), "--special-tokens", prompts=special)
literal = [tokenizer.backend_tokenizer.encode("<", add_special_tokens=False).ids + tokenizer("|endoftext|>the").input_ids]
compare("names of special tokens in prompts", "plain", generated(plain, tokenizer, literal), prompts=special[:1])
compare("layer_norm_epsilon", "wide", generated(make("wide", tokenizer, eos_token_id=None, layer_norm_epsilon=0.3), tokenizer, PROMPTS))


def loss_of(model, ids):
    ids = torch.tensor([ids])
    with torch.no_grad():
        return model(ids, labels=ids).loss.item()


# fftrain's loss on one document of 17 tokens, of which 16 are predicted.
document = "a the b c d the ef the g, and no end yet"
os.makedirs("texts/train"), os.makedirs("texts/val")
for split in ("train", "val"):
    for i in range(4 if split == "train" else 1):
        open(f"texts/{split}/{i}.txt", "w").write(document)
ids = tokenizer(document).input_ids[:17]
assert len(ids) == 17
run(ffconvert, "text", "texts", "data", "--tokenizer", "plain", "--quiet")
sizes = ["--arch", "gpt2", "--layers", 2, "--heads", 2, "--width", 16, "--positions", 64, "--context", 16, "--samples", "documents", "--compute-threads", 1]


def compare_loss(name, expected, output):
    found = float(re.search(r"val loss ([0-9.]+)", output).group(1))
    report(f"{name}: {found}, transformers {expected:.4f}", abs(found - expected) < 2e-4)


wide = GPT2LMHeadModel.from_pretrained("wide").eval()
compare_loss("loss with layer_norm_epsilon 0.3, --evaluate", loss_of(wide, ids), run(fftrain, "--evaluate", "wide", "--data", "data", *sizes).stdout)
training = ["--task", "gpt2", *sizes, "--batch-size", 2, "--epochs", 1, "--steps", 1, "--lr", 1e-12, "--warmup-steps", 0, "--dropout", 0]
compare_loss("the same, --pretrained", loss_of(wide, ids),
             run(fftrain, "--data", "data", "--pretrained", "wide", *training, "--work-dir", "run").stdout)
os.mkdir("exported")
run(fftrain, "--export", "run", "--output", "exported/model.safetensors")
exported = GPT2LMHeadModel.from_pretrained("exported")
report("layer_norm_epsilon of the export", exported.config.layer_norm_epsilon == 0.3, str(exported.config))
report("eos_token_id of the export", exported.generation_config.eos_token_id == 259)

# Added tokens: the rows of new ones, and what is exported.
added = byte_tokenizer(["<user>", "<bot>"])
added.save_pretrained("added")
for split in ("train", "val"):
    open(f"texts/{split}/0.txt", "w").write("<user>" + document)
run(ffconvert, "text", "texts", "more", "--tokenizer", "added", "--quiet")
ids = added("<user>" + document).input_ids[:17]
plain.resize_token_embeddings(len(added), mean_resizing=False)
with torch.no_grad():
    rows = plain.transformer.wte.weight
    rows[260:] = rows[:260].mean(0)
compare_loss("loss with two more tokens", loss_of(plain, ids),
             run(fftrain, "--data", "more", "--pretrained", "plain", "--resize-vocabulary", *training, "--work-dir", "resized").stdout)
os.mkdir("larger")
run(fftrain, "--export", "resized", "--output", "larger/model.safetensors")
larger = GPT2LMHeadModel.from_pretrained("larger").eval()
report("the export has 262 tokens", larger.transformer.wte.weight.shape[0] == larger.config.vocab_size == 262)
prompts = ["<user>the<bot>", "a"]
expected = generated(larger, PreTrainedTokenizerFast.from_pretrained("larger"), prompts)
for model in ("larger", "resized"):
    compare(f"texts with added tokens from {model}", model, expected, prompts=prompts)
sys.exit(failures != 0)
