// Gpt2Config: the sizes of a GPT-2, by the name of a published one or from the config.json of a
// folder of Hugging Face's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/trainer/task_registry.h>

namespace ffkit {

struct Gpt2Config {
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t width = 768;         // of the residual stream; a multiple of `heads`
  int64_t positions = 1024;    // longest sequence
  int64_t vocabulary = 50257;  // token ids are 0 .. vocabulary - 1
  double dropout = 0.1;  // of embeddings, attention and what blocks add to the residual stream
  double norm_epsilon = 1e-5;
  // What config.json says of dropout where that is not one number: "attn_pdrop 0, embd_pdrop 0.1,
  // resid_pdrop 0.1"; `dropout` is then the last one.
  std::string dropouts = {};

  // Multiplications and additions that forward and backward pass take for a token of a sequence of
  // `context`: 6 a weight that is multiplied, and 12 for each layer, width and position before it
  // (Chowdhery et al., "PaLM", 2022, appendix B). Recomputation does not count.
  double training_flops_per_token(int64_t context) const;
  // Numbers of all parameters.
  int64_t num_parameters() const;
};

// "gpt2", "gpt2-medium", "gpt2-large" and "gpt2-xl", as Radford et al. (2019) published them.
std::vector<std::string> gpt2_names();
// Throws Error(invalid_argument) for another name.
Gpt2Config gpt2_config(const std::string& name);

// The sizes in which two networks differ.
struct SizeDifference {
  std::string_view name;
  int64_t first = 0, second = 0;
};
std::vector<SizeDifference> gpt2_differences(const Gpt2Config& a, const Gpt2Config& b);

// Why there is no such network, as a sentence; empty: there is.
std::string gpt2_problem(const Gpt2Config& config);

// config.json as transformers' GPT2Config writes it. Throws Error(not_found), Error(corrupt) for no
// JSON object, Error(unsupported) for a network that is computed in another way than GPT-2's.
Gpt2Config read_gpt2_config(const std::filesystem::path& file);
// `end_token`: the id that ends a document, where there is one.
std::string gpt2_config_text(const Gpt2Config& config, std::optional<int64_t> end_token);

// GPT-2 in Python.
PythonModel gpt2_python(const Gpt2Config& config, int64_t context);

}  // namespace ffkit
