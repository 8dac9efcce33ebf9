// LoadedGpt2: a GPT-2 and its tokenizer, from a run of fftrain or a folder of Hugging Face's, for
// generation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/text/tokenizer.h>
#include <ffkit/trainer/generate.h>

#include "distributed/mesh.h"
#include "tasks/gpt2/network/gpt2_network.h"

namespace ffkit {

// What a folder of Hugging Face's says of generation: generation_config.json, or config.json where
// that is not there, as transformers' from_pretrained() and generate() read them.
struct GenerationSettings {
  std::vector<uint32_t> ends;  // eos_token_id: tokens that end a text; none: only its length does
  std::optional<uint32_t> begin;  // bos_token_id: what an empty prompt is, where it is a token
  // What the files ask for and is not done, and what may surprise, a sentence each without its full
  // stop.
  std::vector<std::string> notes;
};

// Throws Error(corrupt) for a file that is no JSON object and for an eos_token_id that is neither a
// number nor a list of numbers.
GenerationSettings read_generation_settings(const std::filesystem::path& folder,
                                            const text::Tokenizer& tokenizer,
                                            const GenerateOptions& options);

struct LoadedGpt2 {
  std::shared_ptr<Gpt2Network> network;  // on the CPU, f32; this process's part of it
  text::Tokenizer tokenizer;
  GenerationSettings settings = {};
};

// Collective over `mesh`, whose processes compute the network together as `peers`. All read the
// settings and the tokenizer; weights are read as WholeState reads them. Throws
// Error(invalid_argument) for a checkpoint of another task and a tokenizer that is not the
// network's, Error(not_found) without a tokenizer, and what reading the files throws.
LoadedGpt2 load_gpt2(const GenerateOptions& options, const RunMesh& mesh, const Gpt2Peers& peers);

}  // namespace ffkit
