#include "tasks/gpt2/data/gpt2_data.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/text/token_data.h>
#include <ffkit/trainer/gpt2.h>

#include "base/enum_names.h"
#include "base/make_error.h"
#include "tasks/gpt2/network/gpt2_config.h"

namespace ffkit {

constexpr EnumName<Gpt2Samples> kGpt2SamplesNames[] = {{Gpt2Samples::stream, "stream"},
                                                       {Gpt2Samples::documents, "documents"}};
std::string_view to_string(Gpt2Samples samples) {
  return name_of(kGpt2SamplesNames, samples);
}

Gpt2Samples parse_gpt2_samples(std::string_view name) {
  return value_of(kGpt2SamplesNames, name, "--samples");
}

void Gpt2Options::describe(OptionTable& t, const TrainOptions& general) {
  constexpr int64_t kMost = 1 << 24, kMostProcesses = 65536;
  const auto add_size = [&](const char* name, int64_t& value, const char* help) {
    t.add(name, value, help).require(value >= 0 && value <= kMost, "1 to 16777216, or 0");
  };
  t.group("Network");
  t.add("arch", arch, "Sizes of the network, where the following options do not give them")
      .set_choices(gpt2_names())
      .set_names_model();
  add_size("layers", layers, "Blocks of the network; 0: those of --arch");
  add_size("heads", heads,
           "Heads of attention in a block, a divisor of the width; 0: those of --arch");
  add_size("width", width, "Width of the network; 0: that of --arch");
  add_size("positions", positions, "Longest sequence that the network can take; 0: that of --arch");
  add_size("vocabulary", vocabulary,
           "Tokens that the network knows, at least those of the data; 0: those of the data");
  t.add("layer-norm-epsilon", norm_epsilon,
        "What norms add to a variance; 0: as in config.json of --pretrained, else 1e-5")
      .set_stored(norm_epsilon != 0)  // checkpoints without it keep their bytes
      .require(norm_epsilon >= 0 && norm_epsilon < 1, "0 or more and less than 1");
  t.add("resize-vocabulary", resize_vocabulary,
        "--pretrained may know another number of tokens than the data: rows of new ones begin as "
        "the mean of the others, rows beyond are left out")
      .set_stored(resize_vocabulary)
      .require(!resize_vocabulary || !general.pretrained.empty(), "off without --pretrained");
  t.add("dropout", dropout,
        "Share of embeddings, attention and outputs of blocks that is dropped in training")
      .require(dropout >= 0 && dropout < 1, "0 or more and less than 1");
  t.add("recompute", recompute,
        "Computes the inside of each block again in the backward pass instead of keeping it: "
        "less memory, a third more time");
  t.group("Tokens");
  t.add("train-split", train_split, "Split that is trained on")
      .require(!train_split.empty(), "the name of a split");
  t.add("val-split", val_split, "Split that is validated")
      .require(!val_split.empty(), "the name of a split");
  const int64_t most = configured_positions(*this);
  t.add("context", context, "Tokens of a sample; 0: --positions")
      .require(context >= 0 && context <= most,
               fmt::format("1 to the network's positions, {}, or 0", most));
  t.add_choice("samples", samples, parse_gpt2_samples, {"stream", "documents"},
               "A training sample: a piece of all documents one after the other (stream), or one "
               "document, cut or padded");
  t.add("window-tokens", window_tokens,
        "Samples are shuffled among about so many tokens, which are kept in memory twice")
      .require(window_tokens >= 1, "at least 1");
  t.group("Mesh of processes");
  t.add("data-parallel", data_parallel,
        "Processes that share the samples; 0: as many as the other two leave")
      .require(data_parallel >= 0 && data_parallel <= kMostProcesses, "1 to 65536, or 0");
  const auto add_part = [&](const char* name, int64_t& value, const char* help) {
    t.add(name, value, help)
        .require(value >= 1 && value <= kMostProcesses, "1 to 65536")
        .require(value == 1 || general.optimizer != OptimizerKind::lars,
                 "1 with the optimizer lars, which needs whole layers in each process");
  };
  add_part("tensor-parallel", tensor_parallel,
           "Processes that share each block and the vocabulary");
  t.add("sequence-parallel", sequence_parallel,
        "With --tensor-parallel: its processes also share the positions in norms, dropout and "
        "between blocks, which saves memory")
      .set_stored(sequence_parallel)  // checkpoints without it keep their bytes
      .require(!sequence_parallel || tensor_parallel > 1, "off without --tensor-parallel")
      .require(!sequence_parallel || configured_context(*this) % tensor_parallel == 0,
               fmt::format("off with a context of {} that {} processes of --tensor-parallel cannot "
                           "share evenly; give a --context that is a multiple of {}",
                           configured_context(*this), tensor_parallel, tensor_parallel));
  add_part("pipeline-parallel", pipeline_parallel, "Processes that have some of the blocks each");
  t.add("micro-batches", micro_batches,
        "With --pipeline-parallel: pieces that a batch goes through the blocks in")
      .require(micro_batches >= 1, "at least 1")
      .require(micro_batches == 1 || pipeline_parallel > 1,
               "1 without --pipeline-parallel; give --accumulate instead");
}

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
    throw error_of(
        ErrorCode::invalid_argument, "{} is less than the data's {} tokens; give at least {}",
        option_set("vocabulary", std::to_string(config.vocabulary)), vocabulary, vocabulary);
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
