#include "sampling/order_text.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <vector>

#include "base/make_error.h"
#include "base/mix64.h"

namespace ffkit {
namespace {

template <typename T>
std::string hash_of(const std::vector<T>& values) {
  uint64_t hash = values.size();
  for (const T value : values) hash = mix64(hash, std::bit_cast<uint64_t>(value));
  return fmt::format("{:016x}", hash);
}

std::string describe_mixture(const Mixture& mixture, int64_t epoch_size) {
  const std::vector<int64_t> counts = mixture_counts(mixture, epoch_size);
  std::string text = "mixture of ";
  for (size_t i = 0; i < counts.size(); ++i) {
    text += fmt::format("{}{}/{}", i == 0 ? "" : " + ", counts[i], mixture.num_records[i]);
  }
  return text;
}

}  // namespace

std::string text_of_order(const SamplerOptions& options, int64_t batch_size, int64_t epoch_size) {
  const auto text = [&]() -> std::string {
    switch (options.order) {
      case Order::sequential:
        return "sequential";
      case Order::automatic:
      case Order::shuffle:
        return options.mixture ? describe_mixture(*options.mixture, epoch_size) : "shuffle";
      case Order::windowed:
        return (options.window_block_bytes > 0
                    ? fmt::format("windowed by {} bytes", options.window_block_bytes)
                    : fmt::format("windowed by {}", options.window_block)) +
               fmt::format(" x {}", options.window_blocks) +
               (options.num_streams > 1 ? fmt::format(" in {} streams", options.num_streams) : "");
      case Order::weighted:
        return "weighted by " + hash_of(*options.weights);
    }
    throw error_of(ErrorCode::invalid_argument, "there is no Order {}",
                   static_cast<int>(options.order));
  };
  const std::string groups =
      options.groups == nullptr ? "" : " of the groups " + hash_of(*options.groups);
  const std::string buckets = options.buckets == nullptr
                                  ? ""
                                  : fmt::format(" in batches of {} of the buckets {}", batch_size,
                                                hash_of(*options.buckets));
  return fmt::format("{}{}{}, {} samples", text(), groups, buckets, epoch_size);
}

namespace {

// Takes `word` off the front of `text`, where it is there.
bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_number(std::string_view& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::optional<SamplerOptions> shuffle_of_text(std::string_view text, SamplerOptions options) {
  options.num_streams = 1;
  options.window_block_bytes = 0;
  if (text.starts_with("shuffle, ")) {
    options.order = Order::shuffle;
    return options;
  }
  options.order = Order::windowed;
  int64_t block = 0;
  if (!take_word(text, "windowed by ") || !take_number(text, block)) return std::nullopt;
  const bool is_bytes = take_word(text, " bytes");
  (is_bytes ? options.window_block_bytes : options.window_block) = block;
  if (!take_word(text, " x ") || !take_number(text, options.window_blocks)) return std::nullopt;
  if (take_word(text, " in ") &&
      (!take_number(text, options.num_streams) || !take_word(text, " streams"))) {
    return std::nullopt;
  }
  return text.starts_with(", ") ? std::optional(std::move(options)) : std::nullopt;
}

}  // namespace ffkit
