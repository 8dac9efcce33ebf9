// Text from a GPT-2 that fftrain or Hugging Face's library wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/trainer/launch.h>

namespace ffkit {

// What weights and activations are kept in.
enum class GenerateType { f32, bf16, f16 };
std::string_view to_string(GenerateType type);
// Throws Error(invalid_argument) that lists the names there are.
GenerateType parse_generate_type(std::string_view name);

struct GenerateOptions {
  // A folder of Hugging Face's (config.json; model.safetensors or pytorch_model.bin; the
  // tokenizer), or a checkpoint or work folder of fftrain.
  std::filesystem::path model;
  // Which of several sets of tensors in its file, as TrainOptions::weights_key.
  std::string weights_key = {};
  // Folder or file of a tokenizer (Tokenizer::open); empty: the model's.
  std::filesystem::path tokenizer;
  int64_t max_tokens = 100;  // behind each prompt, >= 1
  // Logits are divided by it; 0: always the likeliest token, which contradicts top_k and top_p; >=
  // 0. Without one: 1 where top_k or top_p say what is drawn from, as in transformers, else 0.
  std::optional<double> temperature;
  int64_t top_k = 0;  // one of the k likeliest tokens; 0: of all, >= 0
  // One of the likeliest tokens that have this probability together, 0 < top_p <= 1.
  double top_p = 1;
  // Tokens that a sequence has, the prompt's too, become less likely above 1 and more likely below
  // (transformers' RepetitionPenaltyLogitsProcessor); > 0.
  double repetition_penalty = 1;
  // A text ends with the token that completes one of these, as with transformers' stop_strings;
  // none is empty.
  std::vector<std::string> stop;
  bool hides_stop = false;  // the text ends before the stop string
  // Names of special tokens in prompts, such as "<|endoftext|>", are these tokens, not text.
  bool special_tokens = false;
  uint64_t seed = 0;        // of what is drawn; not of the batches
  int64_t batch_size = 16;  // prompts that are continued at a time, >= 1
  GenerateType type = GenerateType::f32;
  std::string device = "auto";  // as TrainOptions::device
  int compute_threads = 0;      // of a CPU; 0: all cores that this process may use
  // Processes that compute the network together, as Gpt2Options has them, each >= 1: one for each
  // of tensor_parallel x pipeline_parallel.
  int64_t tensor_parallel = 1, pipeline_parallel = 1;
  // Gets the texts while they are made, on this process: pieces of the first prompt's text, then of
  // the second's and so on; `is_last`: nothing more of this one. Empty: nobody does.
  std::function<void(size_t prompt, std::string_view piece, bool is_last)> on_text;
};

struct GeneratedText {
  // The prompt and what follows it; a special token that ends it, such as <|endoftext|>, is left
  // out.
  std::string text;
  std::vector<uint32_t> tokens;  // behind the prompt, with one that ends it
  bool has_ended = false;        // by a token: eos_token_id of the model, or the run's end of text
  std::string stop;              // the stop string that ended it; empty: none
};

struct GenerateResult {
  std::vector<GeneratedText> texts;  // by prompt
  int64_t num_tokens = 0;            // of all
  double seconds = 0;                // that they took
  // What the model's files ask for and is not done, and the like, a sentence each.
  std::vector<std::string> notes;
};

// Continues each prompt; an empty one begins a document. A text ends with a token of the model's
// eos_token_id (generation_config.json, else config.json), or of a run, with its tokenizer's end of
// text. What is drawn for a prompt depends on its place in the list and on the seed. Blocks, and
// sets the number of libtorch's threads for
// the process. `place`: of this process among those that compute the network together, which all
// call this with the same options and prompts and get the same texts; they see the same files.
// Throws Error(invalid_argument) for options out of range, a prompt that with max_tokens is longer
// than the network can take, and tokens that it does not know; otherwise what reading the files
// throws.
GenerateResult generate_texts(const GenerateOptions& options,
                              const std::vector<std::string>& prompts,
                              const ProcessPlace& place = {});

}  // namespace ffkit
