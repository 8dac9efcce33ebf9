#include "tasks/gpt2/data/gpt2_data.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <ffkit/text/token_data.h>

#include "base/make_error.h"

namespace ffkit {

int64_t configured_positions(const Gpt2Options& options) {
  if (options.positions > 0) return options.positions;
  const std::vector<std::string> names = gpt2_names();
  if (std::ranges::find(names, options.arch) == names.end()) return 1;  // which is refused as such
  return gpt2_config(options.arch).positions;
}

int64_t configured_context(const Gpt2Options& options) {
  return options.context > 0 ? options.context : configured_positions(options);
}

Gpt2Config configured_network(const Gpt2Options& options, int64_t vocabulary) {
  Gpt2Config config = gpt2_config(options.arch);
  const auto take = [](int64_t& size, int64_t given) {
    if (given > 0) size = given;
  };
  take(config.layers, options.layers);
  take(config.heads, options.heads);
  take(config.width, options.width);
  take(config.positions, options.positions);
  take(config.vocabulary, options.vocabulary > 0 ? options.vocabulary : vocabulary);
  config.dropout = options.dropout;
  if (options.norm_epsilon > 0) config.norm_epsilon = options.norm_epsilon;
  if (config.vocabulary < vocabulary) {
    throw error_of(ErrorCode::invalid_argument,
                   "--vocabulary {} is less than the data's {} tokens; give at least {}",
                   config.vocabulary, vocabulary, vocabulary);
  }
  const std::string problem = gpt2_problem(config);
  if (!problem.empty()) throw Error(ErrorCode::invalid_argument, problem);
  return config;
}

std::string gpt2_misfit(const Schema& schema) {
  if (text::is_token_schema(schema)) return {};
  return "the data set is none of tokens; GPT-2 trains on what `ffconvert text` writes";
}

TaskFacts Gpt2Facts::to_facts() const {
  return {{"vocabulary", std::to_string(vocabulary)}, {"tokenizer", tokenizer}};
}

Gpt2Facts Gpt2Facts::of(const TaskFacts& facts) {
  const std::string& number = facts.at("vocabulary");
  Gpt2Facts out{.tokenizer = facts.at("tokenizer")};
  const char* const end = number.data() + number.size();
  const auto result = std::from_chars(number.data(), end, out.vocabulary);
  if (result.ec != std::errc{} || result.ptr != end || out.vocabulary < 0) {
    throw Error(ErrorCode::corrupt,
                "the checkpoint's vocabulary is no number; it was changed by hand");
  }
  return out;
}

Gpt2Facts Gpt2Facts::of_data(const TrainOptions& options, const Dataset& split) {
  const text::TokenFacts facts = text::token_facts(split);
  Gpt2Facts out{.vocabulary = facts.vocabulary_size};
  // Where the tokens came as numbers, there is none.
  if (!facts.tokenizer.empty())
    out.tokenizer = text::stored_tokenizer(options.data.only()).to_json();
  return out;
}

text::TokenLoaderOptions token_loader_options(const TrainOptions& options,
                                              const ProcessPlace& place, bool is_training) {
  const Gpt2Options& own = gpt2(options);
  return {.batch_size = options.batch_size,
          .context = configured_context(own),
          .samples = own.samples == Gpt2Samples::stream ? text::TokenSamples::stream
                                                        : text::TokenSamples::documents,
          .shuffle = is_training,
          .window_tokens = own.window_tokens,
          .tail = is_training ? Tail::drop : Tail::exact,
          .seed = options.seed,
          .rank = place.rank,
          .world_size = place.world_size};
}

TokenSource::TokenSource(Dataset split, text::TokenLoaderOptions options, int64_t limit_batches,
                         c10::Device device)
    : loader_(std::move(split), options), limit_batches_(limit_batches), device_(device) {}

int64_t TokenSource::num_batches() const {
  const int64_t all = loader_.num_batches();
  return limit_batches_ > 0 ? std::min(limit_batches_, all) : all;
}

void TokenSource::start_epoch(int64_t epoch) {
  loader_.start_epoch(epoch);
  num_returned_ = 0;
}

void TokenSource::restore(const LoaderState& state) {
  loader_.restore(state);
  const text::TokenLoaderOptions& o = loader_.options();
  num_returned_ = state.position / (o.batch_size * o.world_size);
}

std::optional<DeviceBatch> TokenSource::next() {
  const auto start = std::chrono::steady_clock::now();
  if (limit_batches_ > 0 && num_returned_ >= limit_batches_) return std::nullopt;
  std::optional<text::TokenBatch> batch = loader_.next();
  if (!batch) return std::nullopt;
  ++num_returned_;
  const auto owner = std::make_shared<text::TokenBatch>(std::move(*batch));
  const auto keep = [owner](void*) {};
  DeviceBatch out{.size = owner->size, .fields = {}, .record_indices = owner->samples};
  out.fields.push_back(
      {.name = "tokens",
       .values = at::from_blob(owner->tokens.data(), {owner->size, owner->context + 1}, keep,
                               at::TensorOptions(at::kLong))
                     .to(device_)});
  if (!owner->loss_mask.empty()) {
    out.fields.push_back(
        {.name = "counts",
         .values = at::from_blob(owner->loss_mask.data(), {owner->size, owner->context}, keep,
                                 at::TensorOptions(at::kBool))
                       .to(device_)});
  }
  wait_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace ffkit
