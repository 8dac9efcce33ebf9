// Text from a GPT-2 that fftrain or Hugging Face's library wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/launch/launch.h>

namespace ffkit {

// The type of weights and activations.
enum class GenerateType { f32, bf16, f16 };
template <>
inline constexpr auto kNames<GenerateType> = enum_names<GenerateType>("--dtype",
                                                                      {{GenerateType::f32, "f32"},
                                                                       {GenerateType::bf16, "bf16"},
                                                                       {GenerateType::f16, "f16"}});

struct GenerateOptions {
  // A folder of Hugging Face's (config.json; model.safetensors or pytorch_model.bin; the
  // tokenizer), or a checkpoint or work folder of fftrain.
  std::filesystem::path model;
  // Which set of tensors of its file, as TrainOptions::weights_key.
  std::string weights_key = {};
  // Folder or file of a tokenizer (Tokenizer::open); empty: the model's.
  std::filesystem::path tokenizer;
  int64_t max_tokens = 100;  // behind each prompt, >= 1
  // Logits are divided by it, >= 0. 0 takes the likeliest token, which contradicts top_k and top_p.
  // Nothing: 1 if top_k or top_p is given, as in transformers, else 0.
  std::optional<double> temperature;
  int64_t top_k = 0;  // tokens are drawn from the k likeliest, >= 0; 0: from all
  // Tokens are drawn from the likeliest that have this probability together, 0 < top_p <= 1.
  double top_p = 1;
  // Above 1, tokens that are already in the sequence, including the prompt, become less likely,
  // below 1 more likely (transformers' RepetitionPenaltyLogitsProcessor); > 0.
  double repetition_penalty = 1;
  // A text ends with the token that completes one of these, as with transformers' stop_strings.
  // None is empty.
  std::vector<std::string> stop;
  bool hides_stop = false;  // the text ends before the stop string
  // The name of a special token in a prompt, such as "<|endoftext|>", is that token, not text.
  bool special_tokens = false;
  uint64_t seed = 0;        // of the draws; batches do not change them
  int64_t batch_size = 16;  // prompts that are continued at a time, >= 1
  GenerateType type = GenerateType::f32;
  std::string device = "auto";  // as TrainOptions::device
  int compute_threads = 0;      // on a CPU; 0: all cores that this process may use
  // tensor_parallel x pipeline_parallel processes compute the network together, as in Gpt2Options;
  // each >= 1.
  int64_t tensor_parallel = 1, pipeline_parallel = 1;
  // Called with the texts on this process while they are generated: pieces of the first prompt's
  // text, then of the second's, and so on. `is_last`: the text of this prompt has ended. May be
  // empty.
  std::function<void(size_t prompt, std::string_view piece, bool is_last)> on_text;
};

struct GeneratedText {
  // The prompt and what follows it, without a special token that ends it, such as <|endoftext|>.
  std::string text;
  std::vector<uint32_t> tokens;  // behind the prompt, with the one that ends the text
  bool has_ended = false;        // by a token: the model's eos_token_id, or the run's end of text
  std::string stop;              // the stop string that ended the text; empty: none
};

struct GenerateResult {
  std::vector<GeneratedText> texts;  // by prompt
  int64_t num_tokens = 0;            // of all texts
  double seconds = 0;                // for all texts
  // Notes for the user, a sentence each, such as settings in the model's files that have no effect.
  std::vector<std::string> notes;
};

// Continues each prompt. An empty prompt begins a document. A text ends with a token of the model's
// eos_token_id (generation_config.json, else config.json), or, if the model is of a run, with the
// tokenizer's end of text. Random numbers depend on the prompt's place in the list and on the seed.
// Blocks, and sets the number of libtorch's threads for the process.
//
// All processes that compute the network together must call this with the same options and prompts
// and see the same files; they get the same texts. `place` is the place of this process. Throws
// Error(invalid_argument) for options out of range, for a prompt that with max_tokens is too long
// for the network, and for unknown tokens; and errors of reading the files.
GenerateResult generate_texts(const GenerateOptions& options,
                              const std::vector<std::string>& prompts,
                              const ProcessPlace& place = {});

}  // namespace ffkit
