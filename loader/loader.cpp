#include <fmt/format.h>

#include <utility>

#include <ffkit/format/error.h>
#include <ffkit/loader/loader.h>

#include "epoch_run.h"
#include "loader_parts.h"

namespace ffkit {

struct Loader::Impl {
  Impl(Dataset dataset, LoaderOptions options)
      : parts(std::move(dataset), std::move(options)), fingerprint(parts.dataset.fingerprint()) {}

  void start(int64_t epoch, int64_t position) {
    if (run != nullptr && position == 0 && run->go_on_to(epoch)) return;
    run.reset();  // waits for its threads before the next one takes over the parts
    if (started_ns == 0) started_ns = now_ns();
    run = std::make_unique<EpochRun>(parts, epoch, position);
  }

  LoaderParts parts;
  const std::string fingerprint;
  int64_t started_ns = 0;  // 0: not yet
  std::unique_ptr<EpochRun> run;
};

Loader::Loader(Dataset dataset, LoaderOptions options)
    : impl_(std::make_unique<Impl>(std::move(dataset), std::move(options))) {}
Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;

const Dataset& Loader::dataset() const {
  return impl_->parts.dataset;
}
const LoaderOptions& Loader::options() const {
  return impl_->parts.options;
}
int64_t Loader::num_batches() const {
  return num_batches_on_rank(impl_->parts.sampler, 0);
}

void Loader::start_epoch(int64_t epoch) {
  if (epoch < 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("epoch is {}, must not be negative", epoch));
  }
  impl_->start(epoch, 0);
}

std::optional<Batch> Loader::next() {
  if (impl_->run == nullptr) impl_->start(0, 0);
  return impl_->run->next();
}

bool Loader::ready() const {
  return impl_->run != nullptr && impl_->run->ready();
}

LoaderState Loader::state() const {
  LoaderState state;
  state.fingerprint = impl_->fingerprint;
  state.seed = impl_->parts.options.sampler.seed;
  if (impl_->run != nullptr) {
    state.epoch = impl_->run->epoch();
    state.position = impl_->run->position();
  }
  return state;
}

void Loader::restore(const LoaderState& state) {
  const LoaderParts& parts = impl_->parts;
  const auto refuse = [&](const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message, {.path = parts.dataset.path().string()});
  };
  if (state.fingerprint != impl_->fingerprint) {
    refuse(
        fmt::format("the loader's state belongs to data set {}, but this is {}; resume with the "
                    "data it was saved with",
                    state.fingerprint, impl_->fingerprint));
  }
  if (state.seed != parts.options.sampler.seed) {
    refuse(
        fmt::format("the loader's state was saved with seed {}, but the seed is {}; resume with "
                    "the same seed",
                    state.seed, parts.options.sampler.seed));
  }
  if (state.epoch < 0 || state.position < 0 || state.position > parts.sampler.epoch_size()) {
    refuse(
        fmt::format("the loader's state says epoch {}, position {}, which is not within the {} "
                    "records",
                    state.epoch, state.position, parts.sampler.epoch_size()));
  }
  impl_->start(state.epoch, state.position);
}

int64_t Loader::memory_bound() const {
  const LoaderParts& parts = impl_->parts;
  return parts.slabs->num_bytes() + static_cast<int64_t>(parts.buffers.capacity_bytes());
}

LoaderStatistics Loader::statistics() const {
  constexpr double kSecondsPerNs = 1e-9;
  const auto seconds = [](int64_t ns) { return static_cast<double>(ns) * kSecondsPerNs; };
  const StatsCounters& counters = impl_->parts.stats;
  LoaderStatistics stats;
  stats.num_batches = counters.num_batches;
  stats.num_samples = counters.num_samples;
  stats.num_replaced = counters.num_replaced;
  stats.bytes_read = counters.bytes_read;
  stats.num_reads = counters.num_reads;
  stats.read_seconds = seconds(counters.read_ns);
  stats.checksum_seconds = seconds(counters.checksum_ns);
  stats.decode_seconds = seconds(counters.decode_ns);
  stats.transform_seconds = seconds(counters.transform_ns);
  stats.busy_seconds = seconds(counters.busy_ns);
  stats.wait_seconds = seconds(counters.wait_ns);
  if (impl_->started_ns != 0) stats.elapsed_seconds = seconds(now_ns() - impl_->started_ns);
  stats.num_threads = impl_->parts.options.num_threads;
  stats.prefetch_batches = impl_->parts.options.prefetch_batches;
  if (stats.elapsed_seconds > 0) stats.reads_in_flight = stats.read_seconds / stats.elapsed_seconds;
  if (stats.num_batches > 0) {
    stats.ready_batches =
        static_cast<double>(counters.num_ready_batches) / static_cast<double>(stats.num_batches);
  }
  stats.io_engine = impl_->parts.engine->description();
  stats.direct_io = impl_->parts.files.direct();
  return stats;
}

}  // namespace ffkit
