// What a sequence of samples depends on besides the data and the seed, as text; see
// Sampler::description().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ffkit/loader/sampler.h>

namespace ffkit {

std::string text_of_order(const SamplerOptions& options, int64_t batch_size, int64_t epoch_size);

// `options` with the order that `text` says: Order::shuffle, or Order::windowed with its windows
// and streams. Nothing for any other order.
std::optional<SamplerOptions> shuffle_of_text(std::string_view text, SamplerOptions options);

}  // namespace ffkit
