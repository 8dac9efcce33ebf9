#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <ffkit/text/token_data.h>
#include <ffkit/text/token_loader.h>

#include "base/make_error.h"
#include "token_blocks.h"

namespace ffkit::text {
namespace {

constexpr int64_t kMaxContext = int64_t{1} << 30;
constexpr double kMaxAnnounced = 4096;  // blocks: 512 MB

[[noreturn]] void refuse_loading(const std::string& message, const Dataset* dataset = nullptr) {
  throw error_at(dataset == nullptr ? "" : dataset->path(), ErrorCode::invalid_argument, message);
}

TokenLoaderOptions checked(const TokenLoaderOptions& options) {
  if (options.context < 1 || options.context > kMaxContext) {
    refuse_loading(fmt::format("the context is {}; expected 1 to 2^30 tokens", options.context));
  }
  if (options.window_tokens < 1) {
    refuse_loading(fmt::format("window_tokens is {}; expected 1 or more", options.window_tokens));
  }
  return options;
}

int64_t sum_of(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

template <typename T>
void widen(const std::byte* from, int64_t count, int64_t* to) {
  const auto* ids = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = ids[i];
}

}  // namespace

struct TokenLoader::Impl {
  Impl(Dataset data, TokenLoaderOptions given)
      : dataset(std::move(data)),
        options(checked(given)),
        facts(token_facts(dataset)),
        tokens_of_blocks(dataset.int_column(kNumTokensField)),
        documents_of_blocks(dataset.int_column(kNumDocumentsField)),
        num_tokens(sum_of(tokens_of_blocks)),
        num_documents(sum_of(documents_of_blocks)),
        blocks(dataset, facts, 2 * kept_tokens() * static_cast<int64_t>(size_of(dtype()))),
        order(is_stream() ? tokens_of_blocks : documents_of_blocks, num_samples(), stride(),
              window_samples(), options.shuffle, options.seed),
        sampler(num_samples(), options.batch_size, sampler_options()) {
    if (sampler.num_batches() == 0) {
      refuse_loading(
          fmt::format("the split has only {} samples of {} tokens, but one step of all processes "
                      "needs {} samples; give a smaller batch or context, or more text",
                      num_samples(), options.context, options.batch_size * options.world_size),
          &dataset);
    }
  }

  bool is_stream() const { return options.samples == TokenSamples::stream; }
  DType dtype() const {
    return dataset.schema().fields[dataset.schema().require(kTokensField)].dtype;
  }
  int64_t stride() const { return is_stream() ? options.context : 1; }
  int64_t kept_tokens() const { return std::min(options.window_tokens, num_tokens + 1); }

  int64_t num_samples() const {
    const int64_t count = is_stream() ? (num_tokens - 1) / options.context : num_documents;
    if (count >= 1) return count;
    refuse_loading(is_stream() ? fmt::format("the split has {} tokens, but one sample needs {} "
                                             "tokens; give a shorter context, or more text",
                                             num_tokens, options.context + 1)
                               : std::string("the split has no documents"),
                   &dataset);
  }

  // Of about window_tokens.
  int64_t window_samples() const {
    const double tokens =
        is_stream() ? static_cast<double>(options.context)
                    : static_cast<double>(num_tokens) / static_cast<double>(num_documents);
    const double count = static_cast<double>(options.window_tokens) / tokens;
    return static_cast<int64_t>(std::clamp(count, 1.0, 1e15));
  }

  SamplerOptions sampler_options() const {
    return {.order = Order::sequential,
            .tail = options.tail,
            .seed = options.seed,
            .rank = options.rank,
            .world_size = options.world_size};
  }

  // What the sequence depends on beside data and seed.
  std::string description() const {
    return fmt::format(
        "{} of {} tokens, {}, {} samples", to_string(options.samples), options.context,
        options.shuffle ? fmt::format("shuffled in windows of {}", order.window_samples())
                        : std::string("as stored"),
        num_samples());
  }

  void begin(int64_t new_epoch, int64_t position) {
    if (new_epoch < 0)
      refuse_loading(fmt::format("the epoch is {}; expected 0 or more", new_epoch));
    epoch = new_epoch;
    start = position;
    step = 0;
    announced = 0;
    is_begun = true;
    ahead.reset();
    blocks.clear();
    order.set_epoch(epoch);
  }

  void announce_block(int64_t place) const {
    const Dataset::Location location = dataset.locate(order.block(place));
    dataset.shard(location.shard_index)
        .announce(location.record.offset, location.record.stored_bytes);
  }

  // Asks the kernel for what the batch at `positions` reads. At the beginning that is its whole
  // window; then, batch by batch, the blocks of the window behind it.
  void announce() {
    const int64_t window = order.window_samples();
    const double blocks_of_window = static_cast<double>(order.num_places()) *
                                    static_cast<double>(window) /
                                    static_cast<double>(num_samples());
    if (blocks_of_window > kMaxAnnounced) {  // a window that no cache is to hold
      for (const int64_t position : positions) {
        announce_block(order.place_of(order.first_unit(order.sample(position))));
      }
      return;
    }
    const int64_t first = positions.front() / window * window;
    const int64_t last = std::min(positions.back() + window, num_samples() - 1);
    const int64_t end = order.place_of(order.first_unit(last)) + 1;
    for (announced = std::max(announced, order.place_of(order.first_unit(first))); announced < end;
         ++announced) {
      announce_block(announced);
    }
  }

  void copy(const std::byte* from, int64_t count, int64_t* to) const {
    if (blocks.dtype() == DType::u16) {
      widen<uint16_t>(from, count, to);
    } else {
      widen<uint32_t>(from, count, to);
    }
  }

  // context + 1 tokens from a token of the stream on.
  void add_stream(int64_t sample, int64_t* out) {
    int64_t token = order.first_unit(sample);
    const int64_t end = token + options.context + 1;
    const auto size = static_cast<int64_t>(size_of(blocks.dtype()));
    for (int64_t place = order.place_of(token); token < end; ++place) {
      const int64_t offset = token - order.begin_of(place);
      const int64_t count = std::min(end, order.begin_of(place + 1)) - token;
      if (count == 0) continue;
      copy(blocks.at(order, place).tokens.data() + offset * size, count, out);
      out += count;
      token += count;
    }
  }

  void add_document(int64_t sample, int64_t* out, uint8_t* mask) {
    const int64_t place = order.place_of(sample);
    const OpenBlocks::Block& block = blocks.at(order, place);
    const auto d = static_cast<size_t>(sample - order.begin_of(place));
    const int64_t first = d == 0 ? 0 : block.ends[d - 1];
    const int64_t count = std::min(int64_t{block.ends[d]} - first, options.context + 1);
    const auto size = static_cast<int64_t>(size_of(blocks.dtype()));
    copy(block.tokens.data() + first * size, count, out);
    std::fill(out + count, out + options.context + 1, int64_t{facts.end_of_text});
    std::fill(mask, mask + count - 1, uint8_t{1});
    std::fill(mask + count - 1, mask + options.context, uint8_t{0});
  }

  void prepare() {
    if (!is_begun) begin(0, 0);
    if (ahead || step == sampler.num_batches(start)) return;
    sampler.batch(epoch, start, step, positions);
    // Tail::exact, a rank without a share of the last step
    if (!positions.empty()) ahead = batch_of_positions();
  }

  TokenBatch batch_of_positions() {
    announce();
    const auto count = positions.size();
    const auto length = static_cast<size_t>(options.context + 1);
    TokenBatch batch{.size = static_cast<int64_t>(count), .context = options.context};
    batch.tokens.resize(count * length);
    if (!is_stream()) batch.loss_mask.resize(count * (length - 1));
    batch.samples.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const int64_t sample = order.sample(positions[i]);
      batch.samples.push_back(sample);
      int64_t* out = batch.tokens.data() + i * length;
      if (is_stream()) {
        add_stream(sample, out);
      } else {
        add_document(sample, out, batch.loss_mask.data() + i * (length - 1));
      }
    }
    return batch;
  }

  const Dataset dataset;
  const TokenLoaderOptions options;
  const TokenFacts facts;
  const std::vector<int64_t> tokens_of_blocks;
  const std::vector<int64_t> documents_of_blocks;
  const int64_t num_tokens;
  const int64_t num_documents;
  OpenBlocks blocks;
  TokenOrder order;
  Sampler sampler;
  int64_t epoch = 0;
  int64_t start = 0;      // position that `step` counts from
  int64_t step = 0;       // batches returned since
  int64_t announced = 0;  // places before it
  bool is_begun = false;
  std::optional<TokenBatch> ahead;  // of `step`
  std::vector<int64_t> positions;
};

TokenLoader::TokenLoader(Dataset dataset, TokenLoaderOptions options)
    : impl_(std::make_unique<Impl>(std::move(dataset), options)) {}
TokenLoader::~TokenLoader() = default;
TokenLoader::TokenLoader(TokenLoader&&) noexcept = default;
TokenLoader& TokenLoader::operator=(TokenLoader&&) noexcept = default;

const Dataset& TokenLoader::dataset() const {
  return impl_->dataset;
}
const TokenLoaderOptions& TokenLoader::options() const {
  return impl_->options;
}
int64_t TokenLoader::vocabulary_size() const {
  return impl_->facts.vocabulary_size;
}
uint32_t TokenLoader::end_of_text() const {
  return impl_->facts.end_of_text;
}
int64_t TokenLoader::num_tokens() const {
  return impl_->num_tokens;
}
int64_t TokenLoader::num_documents() const {
  return impl_->num_documents;
}
int64_t TokenLoader::num_samples() const {
  return impl_->num_samples();
}

int64_t TokenLoader::num_batches() const {
  const Impl& impl = *impl_;
  const int64_t steps = impl.sampler.num_batches();
  std::vector<int64_t> last;
  impl.sampler.batch(0, 0, steps - 1, last);
  return last.empty() ? steps - 1 : steps;
}

void TokenLoader::set_epoch(int64_t epoch) {
  impl_->begin(epoch, 0);
}
void TokenLoader::prepare() {
  impl_->prepare();
}

std::optional<TokenBatch> TokenLoader::next() {
  impl_->prepare();
  impl_->step = std::min(impl_->step + 1, impl_->sampler.num_batches(impl_->start));
  return std::exchange(impl_->ahead, std::nullopt);
}

LoaderState TokenLoader::state() const {
  return {.fingerprint = impl_->dataset.fingerprint(),
          .seed = impl_->options.seed,
          .epoch = impl_->epoch,
          .position = impl_->sampler.position_after(impl_->start, impl_->step),
          .order = impl_->description()};
}

void TokenLoader::restore(const LoaderState& state) {
  const auto require_same = [](const char* what, const auto& stored, const auto& ours) {
    if (stored == ours) return;
    refuse_loading(
        fmt::format("the state has the {0} '{1}', but the loader has the {0} '{2}'; resume with "
                    "the same data and options",
                    what, stored, ours));
  };
  require_same("fingerprint of the data", state.fingerprint, impl_->dataset.fingerprint());
  require_same("seed", state.seed, impl_->options.seed);
  require_same("order", state.order, impl_->description());
  if (state.position < 0 || state.position > num_samples()) {
    refuse_loading(
        fmt::format("the state has position {}; expected 0 to {}", state.position, num_samples()));
  }
  impl_->begin(state.epoch, state.position);
}

}  // namespace ffkit::text
