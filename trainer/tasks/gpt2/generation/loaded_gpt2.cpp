#include "tasks/gpt2/generation/loaded_gpt2.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <ffkit/base/option_names.h>
#include <ffkit/trainer/module_model.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "step/whole_state.h"
#include "tasks/gpt2/data/gpt2_data.h"
#include "tasks/gpt2/parallel/gpt2_parts.h"

namespace ffkit {
namespace {

using SettingsJson = nlohmann::ordered_json;

SettingsJson read_settings_file(const std::filesystem::path& file) {
  SettingsJson json =
      SettingsJson::parse(read_whole_text(file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw error_at(file, ErrorCode::corrupt, "is not a JSON object");
  return json;
}

// Numbers of tokens. One that is none of the tokenizer's never comes.
std::vector<int64_t> token_numbers(const SettingsJson& json, const char* key,
                                   const std::filesystem::path& file) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return {};
  std::vector<int64_t> out;
  for (const SettingsJson& id : it->is_array() ? *it : SettingsJson::array({*it})) {
    if (!id.is_number_integer()) {
      throw error_at(file, ErrorCode::corrupt,
                     "'{}' is {}, but must be the number of a token or a list of such numbers", key,
                     it->dump());
    }
    out.push_back(id.get<int64_t>());
  }
  return out;
}

// Settings of generate() that change the tokens, and the values that do not.
const std::pair<const char*, std::vector<SettingsJson>> kNotDone[] = {
    {"num_beams", {1}},
    {"num_beam_groups", {1}},
    {"penalty_alpha", {0}},
    {"dola_layers", {}},
    {"no_repeat_ngram_size", {0}},
    {"bad_words_ids", {}},
    {"suppress_tokens", {SettingsJson::array()}},
    {"begin_suppress_tokens", {SettingsJson::array()}},
    {"forced_bos_token_id", {}},
    {"forced_eos_token_id", {}},
    {"sequence_bias", {}},
    {"min_length", {0}},
    {"min_new_tokens", {0}},
    {"guidance_scale", {1, 1.0}},
    {"exponential_decay_length_penalty", {}},
    {"remove_invalid_values", {false}},
    {"watermarking_config", {}},
    {"token_healing", {false}}};
const std::pair<const char*, std::vector<SettingsJson>> kNotDrawn[] = {{"min_p", {0, 0.0}},
                                                                       {"top_h", {}},
                                                                       {"typical_p", {1, 1.0}},
                                                                       {"epsilon_cutoff", {0, 0.0}},
                                                                       {"eta_cutoff", {0, 0.0}}};

const SettingsJson* value_of(const SettingsJson& json, const char* key) {
  const auto it = json.find(key);
  return it == json.end() || it->is_null() ? nullptr : &*it;
}

// What this program does by its options alone.
std::string wanted_options(const SettingsJson& json, const GenerateOptions& given) {
  std::string out;
  const auto add = [&](std::string_view option, const std::string& value) {
    out += fmt::format("{}--{} {}", out.empty() ? "" : " ", option, value);
  };
  const SettingsJson* draws = value_of(json, "do_sample");
  if (draws != nullptr && *draws == true && !given.temperature && given.top_k == 0 &&
      given.top_p == 1) {
    const auto text = [&](const char* key, const char* otherwise) {
      const SettingsJson* value = value_of(json, key);
      return value == nullptr ? otherwise : value->dump();
    };
    // transformers' own defaults where it draws.
    add("temperature", text("temperature", "1"));
    add("top-k", text("top_k", "50"));
    if (value_of(json, "top_p") != nullptr) add("top-p", text("top_p", "1"));
  }
  const SettingsJson* length = value_of(json, "max_new_tokens");
  if (length != nullptr && *length != given.max_tokens &&
      given.max_tokens == GenerateOptions{}.max_tokens)
    add("max-tokens", length->dump());
  const SettingsJson* penalty = value_of(json, "repetition_penalty");
  if (penalty != nullptr && *penalty != 1.0 && given.repetition_penalty == 1)
    add("repetition-penalty", penalty->dump());
  const SettingsJson* stop = value_of(json, "stop_strings");
  if (stop != nullptr && given.stop.empty()) {
    for (const SettingsJson& text : stop->is_array() ? *stop : SettingsJson::array({*stop}))
      add("stop", text.dump());
  }
  return out;
}

std::vector<std::string> setting_notes(const SettingsJson& json, const GenerateOptions& given) {
  std::vector<std::string> out;
  if (const std::string options = wanted_options(json, given); !options.empty())
    out.push_back(fmt::format("has settings that are options of ffgenerate; give {}", options));
  std::string missing;
  const auto add = [&](const auto& keys) {
    for (const auto& [key, neutral] : keys) {
      const SettingsJson* value = value_of(json, key);
      if (value == nullptr || std::ranges::find(neutral, *value) != neutral.end()) continue;
      missing += fmt::format("{}{} {}", missing.empty() ? "" : ", ", key, value->dump());
    }
  };
  add(kNotDone);
  if (json.value("do_sample", SettingsJson(false)) == true) add(kNotDrawn);
  if (!missing.empty()) out.push_back(fmt::format("has {}, which ffgenerate ignores", missing));
  return out;
}

}  // namespace

GenerationSettings read_generation_settings(const std::filesystem::path& folder,
                                            const text::Tokenizer& tokenizer,
                                            const GenerateOptions& options) {
  std::filesystem::path file = folder / "generation_config.json";
  if (!std::filesystem::exists(file)) file = folder / "config.json";
  const SettingsJson json = read_settings_file(file);
  GenerationSettings out;
  const auto is_token = [&](int64_t id) { return id >= 0 && id < tokenizer.vocabulary_size(); };
  const std::vector<int64_t> ends = token_numbers(json, "eos_token_id", file);
  for (const int64_t id : ends) {
    if (is_token(id)) {
      out.ends.push_back(static_cast<uint32_t>(id));
      continue;
    }
    out.notes.push_back(fmt::format(
        "has the eos_token_id {}, but the tokenizer has {} tokens, so no text ends with it", id,
        tokenizer.vocabulary_size()));
  }
  // As in transformers; older ones and fftrain's own runs end there.
  if (ends.empty() && tokenizer.has_end_of_text()) {
    out.notes.push_back(fmt::format(
        "has no eos_token_id, so texts do not end at {0}; give --stop '{0}' --hide-stop for that",
        tokenizer.token_bytes(tokenizer.end_of_text())));
  }
  const std::vector<int64_t> begin = token_numbers(json, "bos_token_id", file);
  if (!begin.empty() && is_token(begin.front())) out.begin = static_cast<uint32_t>(begin.front());
  for (std::string& note : setting_notes(json, options)) out.notes.push_back(std::move(note));
  for (std::string& note : out.notes) note = fmt::format("{}: {}", file.string(), note);
  return out;
}

LoadedGpt2 load_gpt2(const GenerateOptions& options, const RunMesh& mesh, const Gpt2Peers& peers) {
  ChosenCheckpoint chosen;  // on rank 0
  std::vector<std::string> said;
  const Say say = [&said](const std::string& sentence) { said.push_back(sentence); };
  on_rank_0(mesh.world(), [&] { chosen = choose_checkpoint(options.model, say); });
  const WeightsSource source = find_gpt2_weights(mesh.world().broadcast(chosen.path.string()));
  const std::filesystem::path& file = source.file;
  const bool is_run = source.run.has_value();
  if (is_run && !options.weights_key.empty()) {
    throw error_at(file, ErrorCode::invalid_argument,
                   "is a checkpoint of fftrain, which contains one model; leave {} out",
                   option_name("weights_key"));
  }
  if (!source.config) {
    throw error_at(source.config_file, ErrorCode::not_found,
                   "is missing; it describes the network of the weights");
  }
  const Gpt2Config& config = *source.config;
  const std::string tokenizer = is_run ? Gpt2Facts::of(source.run->facts).tokenizer : "";
  if (is_run && tokenizer.empty() && options.tokenizer.empty()) {
    throw error_at(file, ErrorCode::not_found, "its data had no tokenizer; give {}",
                   option_set("tokenizer", "FOLDER"));
  }
  LoadedGpt2 loaded{.network = nullptr,
                    .tokenizer = !options.tokenizer.empty()
                                     ? text::Tokenizer::open(options.tokenizer)
                                 : is_run ? text::Tokenizer::from_json(tokenizer, file)
                                          : text::Tokenizer::open(file.parent_path())};
  if (loaded.tokenizer.vocabulary_size() > config.vocabulary) {
    throw error_of(
        ErrorCode::invalid_argument,
        "the tokenizer has {} tokens, but the network has {}; give the {} of the network",
        loaded.tokenizer.vocabulary_size(), config.vocabulary, option_name("tokenizer"));
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
    chosen.put_damaged_aside(say);
    std::ranges::move(said, std::back_inserter(loaded.settings.notes));
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
