// The order of an epoch over a data set: as a loader chooses it, where its options leave it open;
// as what fetches ahead of it knows it; and as text, which a state has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/sampler.h>

#include "format/dataset/fetch_ahead.h"

namespace ffkit {

// Where the records of a data set stand in its shards, as far as it is known without their indices:
// all records of a shard are taken to be of its mean size. Takes 8 bytes of memory a record for a
// subset whose records are not in the order of the files.
std::shared_ptr<const RecordPlaces> places_of(const Dataset& dataset);

// `options` without Order::automatic, and with the places of the records where they are needed.
SamplerOptions with_order_for(const Dataset& dataset, SamplerOptions options);

// `options`, which are the user's, with the order `order` of a state, where they leave that open.
std::optional<SamplerOptions> with_order_of_state(const Dataset& dataset, SamplerOptions options,
                                                  const std::string& order);

// What is said of an order to what fetches ahead of it: how the data set is read, where the first
// epoch has `num_batches` on this rank; and the batches of an epoch, from a sampler that stays.
FetchAhead::Reading reading_of(const Dataset& dataset, const Sampler& sampler, int64_t num_batches);
FetchAhead::Epoch fetched_epoch(const Sampler& sampler, int64_t epoch, int64_t start,
                                int64_t num_batches);

// What a sequence of samples depends on besides the data and the seed, as text; see
// Sampler::description().
std::string text_of_order(const SamplerOptions& options, int64_t batch_size, int64_t epoch_size);

// `options` with the order that `text` says: Order::shuffle, or Order::windowed with its windows
// and streams. Nothing for any other order.
std::optional<SamplerOptions> shuffle_of_text(std::string_view text, SamplerOptions options);

}  // namespace ffkit
