// What a folder of Hugging Face's says of generation: generation_config.json, or config.json where
// that is not there, as transformers' from_pretrained() and generate() read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/text/tokenizer.h>
#include <ffkit/trainer/generate.h>

namespace ffkit {

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

}  // namespace ffkit
