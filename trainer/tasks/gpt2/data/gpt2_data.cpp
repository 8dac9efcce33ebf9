#include "tasks/gpt2/data/gpt2_data.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/launch/stop.h>
#include <ffkit/text/token_data.h>
#include <ffkit/text/tokenizer.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "checkpoint/checkpoint_parts.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "launch/waiting.h"

namespace ffkit {
namespace {

// The number of positions: --positions, or that of --arch; 1 for an unknown arch.
int64_t configured_positions(const Gpt2Options& options) {
  if (options.positions > 0) return options.positions;
  const std::vector<std::string> names = gpt2_names();
  if (std::ranges::find(names, options.arch) == names.end()) return 1;  // which is refused as such
  return gpt2_config(options.arch).positions;
}

}  // namespace

void Gpt2Options::describe(OptionTable& t, const TrainOptions& general) {
  constexpr int64_t kMost = 1 << 24, kMostProcesses = 65536;
  const auto add_size = [&](const char* name, int64_t& value, const char* help) {
    t.add(name, value, help).require(value >= 0 && value <= kMost, "between 1 and 16777216, or 0");
  };
  t.group("Network");
  t.add("arch", arch, "Network of GPT-2. The options after this one can change its sizes")
      .set_choices(gpt2_names())
      .set_names_model();
  add_size("layers", layers, "Number of blocks of the network. 0 means the number of --arch");
  add_size(
      "heads", heads,
      "Number of attention heads in a block, a divisor of the width. 0 means the number of --arch");
  add_size("width", width, "Width of the network. 0 means the width of --arch");
  add_size("positions", positions,
           "Largest number of tokens in a sequence for the network. 0 means the number of --arch");
  add_size("vocabulary", vocabulary,
           "Number of tokens in the network's vocabulary, at least as many as in the data. 0 means "
           "the number in the data");
  t.add("layer-norm-epsilon", norm_epsilon,
        "Small number that layer norms add to a variance. 0 means the number in config.json of "
        "--pretrained, or 1e-5 without this file")
      .set_stored(norm_epsilon != 0)  // checkpoints without it keep their bytes
      .require(norm_epsilon >= 0 && norm_epsilon < 1, "0 or more and less than 1");
  t.add("resize-vocabulary", resize_vocabulary,
        "Allows that --pretrained and the data have vocabularies of different sizes. Rows of new "
        "tokens start as the mean of the other rows, and rows of missing tokens are left out")
      .set_stored(resize_vocabulary)
      .require(!resize_vocabulary || !general.pretrained.empty(), "off without --pretrained");
  t.add("dropout", dropout,
        "Probability of dropout in training, for embeddings, attention and the outputs of blocks")
      .require(dropout >= 0 && dropout < 1, "0 or more and less than 1");
  t.add("recompute", recompute,
        "Computes the inner values of each block again in the backward pass and does not keep "
        "them. This needs less memory and a third more time");
  t.group("Tokens");
  t.add("train-split", train_split, "Split to train on")
      .require(!train_split.empty(), "the name of a split");
  t.add("val-split", val_split, "Split to validate on")
      .require(!val_split.empty(), "the name of a split");
  const int64_t most = configured_positions(*this);
  t.add("context", context, "Number of tokens of a sample. 0 means the value of --positions")
      .require(context >= 0 && context <= most,
               fmt::format("between 1 and {}, the positions of the network, or 0", most));
  t.add_choice("samples", samples,
               "Kind of training samples. With 'stream', ffkit puts all documents one after the "
               "other and cuts this stream into samples. With 'documents', a sample is one "
               "document, cut or padded to the length of a sample");
  t.add("window-tokens", window_tokens,
        "Approximate number of tokens among which samples are shuffled. These tokens are kept in "
        "memory twice")
      .require(window_tokens >= 1, "at least 1");
  t.group("Mesh of processes");
  t.add("data-parallel", data_parallel,
        "Number of processes that share the samples. 0 means the number of all processes, divided "
        "by --tensor-parallel and --pipeline-parallel")
      .require(data_parallel >= 0 && data_parallel <= kMostProcesses, "between 1 and 65536, or 0");
  const auto add_part = [&](const char* name, int64_t& value, const char* help) {
    t.add(name, value, help)
        .require(value >= 1 && value <= kMostProcesses, "between 1 and 65536")
        .require(value == 1 || general.optimizer != OptimizerKind::lars,
                 "1 with --optimizer lars, which needs whole layers in each process");
  };
  add_part("tensor-parallel", tensor_parallel,
           "Number of processes that share each block and the vocabulary");
  t.add("sequence-parallel", sequence_parallel,
        "Also divides the positions in norms, in dropout and between blocks among the processes of "
        "--tensor-parallel, which saves memory")
      .set_stored(sequence_parallel)  // checkpoints without it keep their bytes
      .require(!sequence_parallel || tensor_parallel > 1, "off without --tensor-parallel")
      .require(!sequence_parallel || configured_context(*this) % tensor_parallel == 0,
               fmt::format("off with a context of {} that {} processes of --tensor-parallel cannot "
                           "share evenly; give a --context that is a multiple of {}",
                           configured_context(*this), tensor_parallel, tensor_parallel));
  add_part("pipeline-parallel", pipeline_parallel,
           "Number of processes among which the blocks of the network are divided");
  t.add("micro-batches", micro_batches,
        "Number of pieces into which a batch is divided for --pipeline-parallel")
      .require(micro_batches >= 1, "at least 1")
      .require(micro_batches == 1 || pipeline_parallel > 1,
               "1 without --pipeline-parallel; give --accumulate instead");
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
  return "the data set has no tokens; GPT-2 trains on data sets of `ffconvert text`";
}

TaskFacts Gpt2Facts::to_facts() const {
  return {{"vocabulary", std::to_string(vocabulary)}, {"tokenizer", tokenizer}};
}

Gpt2Facts Gpt2Facts::of(const TaskFacts& facts) {
  const Gpt2Facts out{.vocabulary = number_of_text<int64_t>(facts.at("vocabulary")).value_or(-1),
                      .tokenizer = facts.at("tokenizer")};
  if (out.vocabulary < 0) {
    throw Error(ErrorCode::corrupt,
                "the checkpoint's vocabulary is not a number; the file was changed by hand");
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
          .samples = own.samples,
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

void TokenSource::set_epoch(int64_t epoch) {
  loader_.set_epoch(epoch);
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
  const Waiting waiting("waiting for data", Waiting::kPatience);
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
  wait_seconds_ = std::exchange(waited_before_, 0) + seconds_since(start);
  return out;
}

bool TokenSource::wait_for_batch() {
  const auto start = std::chrono::steady_clock::now();
  const Waiting waiting("waiting for data", Waiting::kPatience);
  try {
    loader_.prepare();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || stop_signal() == 0) throw;
  }
  waited_before_ = seconds_since(start);
  return stop_signal() == 0;
}

namespace {

// None where there is none, or one that ffkit does not read.
std::optional<text::Tokenizer> tokenizer_of(const WeightsSource& source) {
  try {
    if (!source.run) return text::Tokenizer::open(source.file.parent_path());
    const std::string text = Gpt2Facts::of(source.run->facts).tokenizer;
    if (!text.empty()) return text::Tokenizer::from_json(text);
  } catch (const Error&) {
    return std::nullopt;  // it is no part of what is read here
  }
  return std::nullopt;
}

}  // namespace

WeightsSource find_gpt2_weights(const std::filesystem::path& path) {
  // Who reads the tensors says which ones are damaged.
  WeightsSource out{.file = choose_checkpoint(path, [](const std::string&) {}).path,
                    .config_file = {},
                    .config = {},
                    .run = {}};
  out.config_file = out.file;
  if (holds_weights_alone(out.file)) {
    out.config_file = out.file.parent_path() / "config.json";
    if (std::filesystem::exists(out.config_file)) out.config = read_gpt2_config(out.config_file);
    return out;
  }
  out.run = read_checkpoint_info(out.file);
  if (out.run->options.task_name() != "gpt2") {
    throw error_at(out.file, ErrorCode::invalid_argument,
                   "belongs to the task {}, but weights of the task gpt2 are needed",
                   out.run->options.task_name());
  }
  out.config = configured_network(gpt2(out.run->options), Gpt2Facts::of(out.run->facts).vocabulary);
  return out;
}

void take_gpt2_settings(Gpt2Options& options, const std::filesystem::path& weights) {
  const WeightsSource source = find_gpt2_weights(weights);
  if (options.resize_vocabulary && options.tensor_parallel * options.pipeline_parallel > 1 &&
      is_in_parts(source.file)) {
    throw error_at(source.file, ErrorCode::unsupported,
                   "is in parts, which keep their sizes; export it (fftrain --export), and give "
                   "the exported file with {}",
                   option_name("resize_vocabulary"));
  }
  if (!source.config) return;
  // Sizes that nobody gave are those of the weights, as for ffgenerate.
  if (options.arch == Gpt2Options().arch) {
    const Gpt2Config own = gpt2_config(options.arch);
    const auto take = [](int64_t& size, int64_t named, int64_t of_weights) {
      if (size == 0 && named != of_weights) size = of_weights;
    };
    take(options.layers, own.layers, source.config->layers);
    take(options.heads, own.heads, source.config->heads);
    take(options.width, own.width, source.config->width);
    take(options.positions, own.positions, source.config->positions);
  }
  const double theirs = source.config->norm_epsilon;
  if (options.norm_epsilon != 0 && options.norm_epsilon != theirs) {
    throw error_at(source.file, ErrorCode::invalid_argument,
                   "the file belongs to a network with a layer_norm_epsilon of {}, but {} is {}; "
                   "leave out that option",
                   theirs, option_name("layer_norm_epsilon"), options.norm_epsilon);
  }
  if (theirs != Gpt2Config{}.norm_epsilon) options.norm_epsilon = theirs;
}

void check_gpt2_config(const std::filesystem::path& weights, const Gpt2Config& config,
                       bool any_vocabulary) {
  const WeightsSource source = find_gpt2_weights(weights);
  if (!source.config) return;
  for (const auto& [name, theirs, own] : gpt2_differences(*source.config, config)) {
    const bool is_vocabulary = name == "tokens";
    if (is_vocabulary && any_vocabulary) continue;
    throw error_at(source.config_file, ErrorCode::invalid_argument,
                   "the file belongs to a GPT-2 with {0} {1}, but this network has {2} {1}{3}",
                   theirs, name, own,
                   is_vocabulary ? fmt::format("; give {}", option_name("resize_vocabulary")) : "");
  }
}

void check_same_tokens(const std::filesystem::path& weights, const std::string& tokenizer) {
  const WeightsSource source = find_gpt2_weights(weights);
  const std::optional<text::Tokenizer> theirs = tokenizer_of(source);
  if (!theirs || tokenizer.empty()) return;
  const text::Tokenizer own = text::Tokenizer::from_json(tokenizer);
  const int64_t both = std::min(theirs->vocabulary_size(), own.vocabulary_size());
  for (uint32_t id = 0; id < both; ++id) {
    if (theirs->token_bytes(id) == own.token_bytes(id)) continue;
    throw error_at(source.file, ErrorCode::invalid_argument,
                   "token {} of its tokenizer is '{}', but in the data it is '{}'; convert the "
                   "data with the tokenizer of the weights",
                   id, printable(theirs->token_bytes(id)), printable(own.token_bytes(id)));
  }
}

void resize_gpt2_vocabulary(std::vector<NamedTensor>& tensors, int64_t vocabulary) {
  const auto found = std::ranges::find(tensors, "transformer.wte.weight", &NamedTensor::name);
  if (found == tensors.end() || found->tensor.dim() != 2 || found->tensor.size(0) == 0) return;
  at::Tensor& rows = found->tensor;
  const int64_t added = vocabulary - rows.size(0);
  if (added <= 0) {
    rows = rows.narrow(0, 0, vocabulary);
    return;
  }
  const at::Tensor mean = rows.to(at::kDouble).mean(0, /*keepdim=*/true).to(rows.scalar_type());
  rows = at::cat({rows, mean.expand({added, rows.size(1)})});
}

namespace {

constexpr std::string_view kTransformer = "transformer.";
constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kTokens = "transformer.wte.weight";
constexpr std::string_view kPositions = "wpe.weight";

// What is before "transformer.", or before the names where that is left out, such as "model.". The
// shortest: copies of a model are named after it.
std::string_view words_before(const std::vector<NamedTensor>& tensors) {
  const NamedTensor* found = nullptr;
  for (const NamedTensor& t : tensors) {
    const bool is_it = t.name == kPositions || t.name.ends_with('.' + std::string(kPositions));
    if (is_it && (found == nullptr || t.name.size() < found->name.size())) found = &t;
  }
  if (found == nullptr) return {};
  std::string_view words = found->name;
  words.remove_suffix(kPositions.size());
  if (words.ends_with(kTransformer) &&
      (words.size() == kTransformer.size() || words[words.size() - kTransformer.size() - 1] == '.'))
    words.remove_suffix(kTransformer.size());
  return words;
}

}  // namespace

void name_gpt2_tensors(const std::string& file, std::vector<NamedTensor>& tensors) {
  const std::string words(words_before(tensors));
  std::erase_if(tensors, [&](const NamedTensor& t) {
    return t.name.ends_with(".attn.bias") || t.name.ends_with(".attn.masked_bias");
  });
  for (NamedTensor& t : tensors) {
    if (!t.name.starts_with(words)) continue;  // of another model, which is refused by its name
    t.name.erase(0, words.size());
    if (t.name != kHead && !t.name.starts_with(kTransformer)) t.name.insert(0, kTransformer);
  }
  const auto find = [&](std::string_view name) {
    return std::ranges::find(tensors, name, &NamedTensor::name);
  };
  const auto head = find(kHead);
  if (head == tensors.end()) return;
  const auto embedding = find(kTokens);
  if (embedding == tensors.end()) {
    // safetensors' save_model() keeps one of two names of a tensor.
    head->name = kTokens;
    return;
  }
  if (!at::equal(head->tensor, embedding->tensor)) {
    throw error_at(file, ErrorCode::unsupported,
                   "the tensors lm_head.weight and wte.weight differ, but in GPT-2 they are one "
                   "tensor; ffkit computes only GPT-2");
  }
  tensors.erase(head);
}

}  // namespace ffkit
