#include "tasks/gpt2/generation/loaded_gpt2.h"

#include <filesystem>
#include <utility>

#include <ffkit/trainer/module_model.h>

#include "base/make_error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weights.h"
#include "step/whole_state.h"
#include "tasks/gpt2/data/gpt2_data.h"
#include "tasks/gpt2/data/weights_source.h"
#include "tasks/gpt2/network/gpt2_weights.h"
#include "tasks/gpt2/parallel/gpt2_parts.h"

namespace ffkit {

LoadedGpt2 load_gpt2(const GenerateOptions& options, const RunMesh& mesh, const Gpt2Peers& peers) {
  const WeightsSource source = find_gpt2_weights(options.model);
  const std::filesystem::path& file = source.file;
  const bool is_run = source.run.has_value();
  if (is_run && !options.weights_key.empty()) {
    throw error_at(file, ErrorCode::invalid_argument,
                   "is a checkpoint of fftrain, which holds one model; leave --weights-key out");
  }
  if (!source.config) {
    throw error_at(source.config_file, ErrorCode::not_found,
                   "is missing, which says what network the weights are of");
  }
  const Gpt2Config& config = *source.config;
  const std::string tokenizer = is_run ? Gpt2Facts::of(source.run->facts).tokenizer : "";
  if (is_run && tokenizer.empty() && options.tokenizer.empty()) {
    throw error_at(file, ErrorCode::not_found,
                   "its data had no tokenizer; give --tokenizer FOLDER");
  }
  LoadedGpt2 loaded{.network = nullptr,
                    .tokenizer = !options.tokenizer.empty()
                                     ? text::Tokenizer::open(options.tokenizer)
                                 : is_run ? text::Tokenizer::from_json(tokenizer, file)
                                          : text::Tokenizer::open(file.parent_path())};
  if (loaded.tokenizer.vocabulary_size() > config.vocabulary) {
    throw error_of(
        ErrorCode::invalid_argument,
        "the tokenizer has {} tokens, but the network knows {}; give the network's own --tokenizer",
        loaded.tokenizer.vocabulary_size(), config.vocabulary);
  }
  if (!is_run) {
    loaded.settings = read_generation_settings(file.parent_path(), loaded.tokenizer, options);
  } else if (loaded.tokenizer.has_end_of_text()) {
    loaded.settings.ends.push_back(loaded.tokenizer.end_of_text());
  }
  loaded.network = std::make_shared<Gpt2Network>(config, peers, /*draws=*/false);
  ModuleModel model(loaded.network);
  model.set_training(false);
  const int tensor = peers.tensor->world_size(), pipeline = peers.pipeline->world_size();
  const Gpt2Parts parts(config, tensor, pipeline);
  const WholeState state(mesh, tensor * pipeline > 1 ? &parts : nullptr);
  if (is_run) {
    state.load_checkpoint(file, evaluated_state(model, source.run->options));
    return loaded;
  }
  Weights weights;
  on_rank_0(mesh.world(), [&] { weights = read_weights(file, options.weights_key); });
  state.load(weights,
             {.name = "GPT-2 of its config", .choice = "config", .prepare = name_gpt2_tensors},
             model, HeadPolicy::must_fit, &weights.notes);
  for (std::string& note : notes_of(file, weights.notes))
    loaded.settings.notes.push_back(std::move(note));
  return loaded;
}

}  // namespace ffkit
