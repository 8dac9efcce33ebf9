// LoadedGpt2: a GPT-2 and its tokenizer, from a run of fftrain or a folder of Hugging Face's, for
// generation.
#pragma once

#include <memory>

#include <ffkit/text/tokenizer.h>
#include <ffkit/trainer/generate.h>

#include "distributed/mesh.h"
#include "tasks/gpt2/generation/generation_settings.h"
#include "tasks/gpt2/network/gpt2_network.h"

namespace ffkit {

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
