#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>
#include <ffkit/base/option_names.h>
#include <ffkit/text/tokenizer.h>
#include <ffkit/trainer/generate.h>
#include <ffkit/trainer/gpt2.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "device/device.h"
#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "launch/waiting.h"
#include "tasks/gpt2/generation/generated_text.h"
#include "tasks/gpt2/generation/loaded_gpt2.h"
#include "tasks/gpt2/network/gpt2_network.h"

namespace ffkit {
namespace {

constexpr uint8_t kGenerationStream = 140;  // none of the loader's, 0 .. 127, nor of others here

at::ScalarType scalar_type(GenerateType type) {
  return type == GenerateType::bf16  ? at::kBFloat16
         : type == GenerateType::f16 ? at::kHalf
                                     : at::kFloat;
}

bool draws_from_some(const GenerateOptions& o) {
  return o.top_k > 0 || o.top_p < 1;
}

void check_options(const GenerateOptions& o) {
  const auto require = [](bool holds, const char* name, const std::string& range) {
    if (!holds) throw error_of(ErrorCode::invalid_argument, "{} must be {}", name, range);
  };
  require(o.max_tokens >= 1, "max-tokens", "at least 1");
  require(!o.temperature || (*o.temperature >= 0 && std::isfinite(*o.temperature)), "temperature",
          "0 or more");
  require(o.top_k >= 0, "top-k", "0 or more");
  require(o.top_p > 0 && o.top_p <= 1, "top-p", "more than 0 and at most 1");
  require(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty), "repetition-penalty",
          "more than 0");
  require(std::ranges::none_of(o.stop, &std::string::empty), "stop", "a text that is not empty");
  require(!o.hides_stop || !o.stop.empty(), "hide-stop", "off without " + option_name("stop"));
  if (o.temperature == 0.0 && draws_from_some(o)) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} always takes the likeliest token, but {} and {} draw one; give another {}, "
                   "or leave both out",
                   option_set("temperature", "0"), option_name("top_k"), option_name("top_p"),
                   option_name("temperature"));
  }
  require(o.batch_size >= 1, "batch-size", "at least 1");
  require(o.tensor_parallel >= 1, "tensor-parallel", "at least 1");
  require(o.pipeline_parallel >= 1, "pipeline-parallel", "at least 1");
  require(o.compute_threads >= 0, "compute-threads", "0 or more");
}

// One batch of prompts, and the tokens behind them.
class Continuation {
 public:
  // `first`: the number of the first prompt among all.
  Continuation(LoadedGpt2& loaded, const GenerateOptions& options, c10::Device device,
               std::vector<std::vector<uint32_t>> prompts, int64_t first)
      : network_(*loaded.network),
        tokenizer_(loaded.tokenizer),
        options_(options),
        device_(device),
        ends_(loaded.settings.ends),
        stops_(options.stop),
        sequences_(std::move(prompts)),
        first_(first),
        has_ended_(sequences_.size(), false),
        choice_({.temperature = options.temperature.value_or(draws_from_some(options) ? 1 : 0),
                 .top_k = options.top_k,
                 .top_p = options.top_p}) {
    for (const auto& prompt : sequences_) {
      shortest_ = std::min(shortest_, std::ssize(prompt));
      longest_ = std::max(longest_, std::ssize(prompt));
    }
    for (const auto& prompt : sequences_) pads_.push_back(longest_ - std::ssize(prompt));
  }

  // `num_hidden`: tokens at the beginning of each prompt that its text leaves out.
  std::vector<GeneratedText> run(const std::vector<size_t>& num_hidden) {
    for (size_t b = 0; b < sequences_.size(); ++b) {
      texts_.emplace_back(tokenizer_, stops_, options_.hides_stop,
                          std::span(sequences_[b]).subspan(num_hidden[b]));
    }
    const std::vector<std::vector<uint32_t>> prompts = sequences_;
    generate_tokens();
    for (GrowingText& text : texts_) text.finish();
    has_ended_.assign(has_ended_.size(), true);
    report();
    std::vector<GeneratedText> out;
    for (size_t b = 0; b < sequences_.size(); ++b) {
      const auto begin = sequences_[b].begin() + std::ssize(prompts[b]);
      out.push_back({.text = texts_[b].text(),
                     .tokens = {begin, sequences_[b].end()},
                     .has_ended = is_end(sequences_[b].back()) && begin != sequences_[b].end(),
                     .stop = texts_[b].stop()});
    }
    return out;
  }

 private:
  void generate_tokens() {
    report();
    KeyValueCache cache(longest_ + options_.max_tokens);
    at::Tensor tokens = padded_prompts();
    for (int64_t step = 0; step < options_.max_tokens; ++step) {
      at::Tensor next = next_tokens(tokens, step, cache);
      take(next);
      report();
      if (std::ranges::find(has_ended_, false) == has_ended_.end()) return;
      tokens = next.to(device_);
    }
  }

  // [B, longest]: shorter ones have something before them that nothing sees.
  at::Tensor padded_prompts() const {
    const at::Tensor out = at::zeros({std::ssize(sequences_), longest_}, at::kLong);
    for (size_t b = 0; b < sequences_.size(); ++b) {
      auto* row = out[b].mutable_data_ptr<int64_t>();
      std::ranges::copy(sequences_[b], row + longest_ - std::ssize(sequences_[b]));
    }
    return out.to(device_);
  }

  // Of the prompts in step 0, of one token for each sequence later.
  Gpt2Network::Pass pass_at(int64_t step, KeyValueCache& cache) const {
    Gpt2Network::Pass pass{.cache = &cache};
    if (shortest_ == longest_) return pass;
    const int64_t end = longest_ + step;  // positions with this step's
    const int64_t begin = step == 0 ? 0 : end - 1;
    const at::Tensor columns = at::arange(begin, end);
    std::vector<at::Tensor> positions, masks;
    for (const int64_t pad : pads_) {
      positions.push_back((columns - pad).clamp_min(0));
      const at::Tensor all = at::arange(end);
      // What is before a prompt sees itself: a softmax over nothing is not a number.
      const at::Tensor is_itself = all.unsqueeze(0).eq(columns.unsqueeze(1));
      masks.push_back((all.unsqueeze(0).le(columns.unsqueeze(1)) & all.ge(pad)) | is_itself);
    }
    pass.positions = at::stack(positions).to(device_);
    pass.mask = at::stack(masks).unsqueeze(1).to(device_);
    return pass;
  }

  // Behind `tokens` [B, S], which are the next ones of each sequence: [B, 1] i64 on the CPU, the
  // same on all processes. Keys and values of a stage's blocks are in its own cache.
  at::Tensor next_tokens(const at::Tensor& tokens, int64_t step, KeyValueCache& cache) {
    const Gpt2Peers& peers = network_.peers();
    const Gpt2Network::Pass pass = pass_at(step, cache);
    at::Tensor x;
    if (peers.is_first()) {
      x = network_.embed(tokens, pass);
    } else {
      x = at::empty({tokens.size(0), tokens.size(1), network_.config().width},
                    at::TensorOptions(scalar_type(options_.type)).device(device_));
      peers.pipeline->start_receive(x, peers.pipeline->rank() - 1).wait();
    }
    x = network_.blocks(x, pass);
    at::Tensor next = at::zeros({tokens.size(0), 1}, at::kLong);
    if (peers.is_last()) {
      const at::Tensor logits = network_.logits(x.narrow(1, x.size(1) - 1, 1))
                                    .squeeze(1)
                                    .to(at::kFloat)
                                    .cpu()
                                    .contiguous();
      choose(logits, step, next);
    } else {
      peers.pipeline->start_send(x.contiguous(), peers.pipeline->rank() + 1).wait();
    }
    peers.pipeline->sum(next);
    return next;
  }

  // logits [B, vocabulary] f32.
  void choose(const at::Tensor& logits, int64_t step, at::Tensor& next) {
    for (size_t b = 0; b < sequences_.size(); ++b) {
      if (has_ended_[b]) continue;
      const at::Tensor row = logits[b];
      // A network may have more tokens than its tokenizer, so that their number is even.
      const std::span own(row.mutable_data_ptr<float>(),
                          static_cast<size_t>(tokenizer_.vocabulary_size()));
      if (options_.repetition_penalty != 1)
        penalize_repetition(own, sequences_[b], options_.repetition_penalty);
      CounterRandom random(
          {.seed = options_.seed, .epoch = step, .record_index = first_ + static_cast<int64_t>(b)},
          kGenerationStream);
      next[b][0] = choice_.choose(own, random);
    }
  }

  void take(const at::Tensor& next) {
    for (size_t b = 0; b < sequences_.size(); ++b) {
      if (has_ended_[b]) continue;
      const auto token = static_cast<uint32_t>(next[b][0].item<int64_t>());
      sequences_[b].push_back(token);
      texts_[b].add(token, is_end(token));
      has_ended_[b] = is_end(token) || !texts_[b].stop().empty();
      if (has_ended_[b]) texts_[b].finish();
    }
  }

  bool is_end(uint32_t token) const { return std::ranges::find(ends_, token) != ends_.end(); }

  // What is new of the first text that has not ended, and of others when their turn has come.
  void report() {
    for (; options_.on_text && num_reported_ < texts_.size(); ++num_reported_) {
      const bool has_ended = has_ended_[num_reported_];
      const std::string_view text = texts_[num_reported_].text();
      options_.on_text(first_ + num_reported_, text.substr(num_shown_), has_ended);
      num_shown_ = has_ended ? 0 : text.size();
      if (!has_ended) return;
    }
  }

  Gpt2Network& network_;
  const text::Tokenizer& tokenizer_;
  const GenerateOptions& options_;
  const c10::Device device_;
  const std::vector<uint32_t> ends_;
  const StopStrings stops_;
  std::vector<std::vector<uint32_t>> sequences_;
  const int64_t first_;
  std::vector<bool> has_ended_;
  NextToken choice_;
  std::vector<GrowingText> texts_;
  size_t num_reported_ = 0;  // texts
  size_t num_shown_ = 0;     // bytes of the text behind them
  int64_t shortest_ = INT64_MAX, longest_ = 0;
  std::vector<int64_t> pads_;  // positions before each prompt
};

std::vector<uint32_t> prompt_tokens(const LoadedGpt2& loaded, const std::string& prompt,
                                    const GenerateOptions& options) {
  const text::Tokenizer& tokenizer = loaded.tokenizer;
  const Gpt2Config& config = loaded.network->config();
  const int64_t max_tokens = options.max_tokens;
  std::vector<uint32_t> tokens = tokenizer.before_document();
  tokenizer.encode(
      prompt, tokens,
      options.special_tokens ? text::SpecialTokens::as_tokens : text::SpecialTokens::as_text);
  if (tokens.empty()) {
    const std::optional<uint32_t>& begin = loaded.settings.begin;
    tokens.push_back(begin ? *begin : tokenizer.end_of_text());
  }
  if (std::ssize(tokens) + max_tokens > config.positions) {
    throw error_of(
        ErrorCode::invalid_argument,
        "{} tokens of a prompt and {} new ones are more than the network's {} positions; give {}",
        tokens.size(), max_tokens, config.positions,
        std::ssize(tokens) < config.positions
            ? option_set("max_tokens", std::to_string(config.positions - std::ssize(tokens))) +
                  " or fewer"
            : "a shorter prompt");
  }
  return tokens;
}

// People take the name of a token in a prompt for the token.
void add_special_note(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts,
                      std::vector<std::string>& notes) {
  for (uint32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    if (!tokenizer.is_special(id)) continue;
    const std::string_view name = tokenizer.token_bytes(id);
    const auto has_name = [&](const std::string& prompt) {
      return prompt.find(name) != std::string::npos;
    };
    if (std::ranges::none_of(prompts, has_name)) continue;
    notes.push_back(fmt::format(
        "{} in a prompt is read as normal text; give --special-tokens to read it as the token",
        name));
  }
}

// What prompts have that is not taken as it stands there.
void add_prompt_notes(const text::Tokenizer& tokenizer, const std::vector<std::string>& prompts,
                      bool special_tokens, std::vector<std::string>& notes) {
  const auto num_bad =
      std::ranges::count_if(prompts, [](const std::string& prompt) { return !is_utf8(prompt); });
  if (num_bad > 0 && !tokenizer.keeps_bytes()) {
    notes.push_back(fmt::format(
        "{} of {} prompts {} not UTF-8: wrong bytes become U+FFFD; write all prompts as UTF-8",
        num_bad, prompts.size(), num_bad == 1 ? "is" : "are"));
  }
  if (!special_tokens) add_special_note(tokenizer, prompts, notes);
}

}  // namespace

GenerateResult generate_texts(const GenerateOptions& options,
                              const std::vector<std::string>& prompts, const ProcessPlace& place) {
  return with_torch_errors([&] {
    check_options(options);
    if (options.tensor_parallel * options.pipeline_parallel != place.world_size) {
      throw error_of(ErrorCode::invalid_argument,
                     "{0} x {1} need {2} processes, but {3} were started; start {2} processes",
                     option_set("tensor_parallel", std::to_string(options.tensor_parallel)),
                     option_set("pipeline_parallel", std::to_string(options.pipeline_parallel)),
                     options.tensor_parallel * options.pipeline_parallel, place.world_size);
    }
    const at::NoGradGuard no_grad;
    TrainOptions mesh_options;
    mesh_options.task = "gpt2";
    mesh_options.device = options.device;
    gpt2(mesh_options).tensor_parallel = options.tensor_parallel;
    gpt2(mesh_options).pipeline_parallel = options.pipeline_parallel;
    const c10::Device device = prepare_device(mesh_options, place);
    at::set_num_threads(options.compute_threads > 0 ? options.compute_threads
                                                    : core_share(place.local_world_size));
    Communicator world(place, device);
    const RunMesh mesh(mesh_options, world);
    Gpt2Peers peers;
    if (options.tensor_parallel > 1)
      peers.tensor = std::make_shared<CommunicatorPeers>(mesh.along("tensor"));
    if (options.pipeline_parallel > 1)
      peers.pipeline = std::make_shared<CommunicatorPeers>(mesh.along("pipeline"));
    LoadedGpt2 loaded = load_gpt2(options, mesh, peers);
    std::vector<std::vector<uint32_t>> tokens;
    std::vector<size_t> num_hidden;
    for (const std::string& prompt : prompts) {
      tokens.push_back(prompt_tokens(loaded, prompt, options));
      num_hidden.push_back(prompt.empty() ? tokens.back().size()
                                          : loaded.tokenizer.before_document().size());
    }
    loaded.network->to(device, scalar_type(options.type));
    GenerateResult result{.notes = loaded.settings.notes};
    add_prompt_notes(loaded.tokenizer, prompts, options.special_tokens, result.notes);
    const auto start = std::chrono::steady_clock::now();
    for (size_t first = 0; first < prompts.size(); first += options.batch_size) {
      const size_t end = std::min(prompts.size(), first + options.batch_size);
      Continuation continuation(loaded, options, device,
                                {tokens.begin() + first, tokens.begin() + end}, first);
      for (GeneratedText& text :
           continuation.run({num_hidden.begin() + first, num_hidden.begin() + end})) {
        result.num_tokens += std::ssize(text.tokens);
        result.texts.push_back(std::move(text));
      }
    }
    world.barrier();  // nobody leaves while another still needs its answers
    result.seconds = seconds_since(start);
    return result;
  });
}

}  // namespace ffkit
