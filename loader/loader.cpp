#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <utility>

#include <ffkit/image/image_codec.h>
#include <ffkit/loader/loader.h>

#include "base/make_error.h"
#include "epoch_run.h"
#include "threads/threads.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

constexpr const char* kLessMemory =
    "use smaller batches, fewer batches (prefetch_batches, held_batches) or a smaller "
    "io.max_bytes_in_flight, or give the process more memory";

void warn_of_slow_jpeg(const WarningSink& sink) {
  if (jpeg_huffman_decoder() != JpegHuffmanDecoder::libjpeg_after_check) return;
  warn(sink,
       "JPEGs are decoded by libjpeg alone, which is slower, because this process has another "
       "libjpeg than the build of ffkit; build ffkit again with the headers of this libjpeg");
}

template <typename Impl>
Impl& require(const std::unique_ptr<Impl>& impl) {
  if (impl != nullptr) return *impl;
  throw Error(ErrorCode::invalid_argument,
              "this loader object was moved to another object; use that object");
}

}  // namespace

struct Loader::Impl {
  Impl(Dataset dataset, LoaderOptions options)
      : parts(std::move(dataset), std::move(options)), fingerprint(parts.dataset.fingerprint()) {}

  struct Place {
    int64_t epoch = 0;
    int64_t position = 0;
  };

  // In the order of `sampler`, where there is one. Where it throws, place and order stay what they
  // were.
  void start(int64_t epoch, int64_t position, std::optional<Sampler> sampler = std::nullopt) {
    if (!sampler && run != nullptr && position == 0 && run->go_on_to(epoch)) {
      at_epoch_start = statistics();
      return;
    }
    // Its threads must have ended before the next one takes over the parts.
    if (run != nullptr && !run->stop(stop_limit())) {
      throw parts.hanging_error(parts.watch.oldest().value_or(ReadWatch::Work()));
    }
    left = place();
    run.reset();
    if (started_ns == 0) started_ns = now_ns();
    at_epoch_start = statistics();
    if (sampler) exchange_sampler(*sampler);
    try {
      run = std::make_unique<EpochRun>(parts, epoch, position);
    } catch (...) {
      if (sampler) exchange_sampler(*sampler);
      throw;
    }
  }
  void exchange_sampler(Sampler& sampler) {
    const std::scoped_lock lock(order_mutex);
    std::swap(parts.sampler, sampler);
  }
  std::string order() const {
    const std::scoped_lock lock(order_mutex);
    return parts.sampler.description();
  }
  // Begins where it is when no epoch was started, and where a start had to wait too long for the
  // run before it.
  EpochRun& running() {
    if (run == nullptr || run->is_stopping()) {
      const Place here = place();
      start(here.epoch, here.position);
    }
    return *run;
  }
  template <typename Work>
  auto errors_only_of(Work&& work) -> decltype(work()) {
    return errors_only(parts.dataset.path(), -1, kLessMemory, std::forward<Work>(work));
  }
  Place place() const { return run == nullptr ? left : Place{run->epoch(), run->position()}; }

  std::chrono::nanoseconds stop_limit() const {
    // A disk answers; a store may say nothing for minutes.
    const std::chrono::seconds limit(parts.files.are_local() ? 10 : 2);
    return std::min<std::chrono::nanoseconds>(parts.read_timeout(), limit);
  }

  bool is_inherited() const { return process != getpid(); }

  void require_own_process() const {
    if (!is_inherited()) return;
    throw error_of(ErrorCode::invalid_argument,
                   "the loader belongs to process {}, which made it before fork(), so its threads "
                   "are missing in this process; make another loader here",
                   process);
  }

  // Destroys `impl`, or gives it up, with its memory, where threads are still at it or are those of
  // another process.
  static void end(std::unique_ptr<Impl> impl) noexcept {
    if (impl == nullptr) return;
    if (!impl->is_inherited()) {
      if (impl->run == nullptr || impl->run->stop(impl->stop_limit())) return;
      warn(impl->parts.options.on_warning,
           "a loader was destroyed before its reads ended; its memory is kept until the process "
           "ends: " +
               impl->parts.dataset.path().string());
      impl->parts.decode_pool.give_up();
    }
    static_cast<void>(impl.release());
  }

  // Once.
  void warn_of_resized_numbers() {
    if (has_warned_of_numbers || !parts.stats.resized_grey_of_16_bits) return;
    has_warned_of_numbers = true;
    warn(parts.options.on_warning,
         parts.dataset.path().string() +
             ": an image field of the batch resizes grey pictures of 16 bits and blends their "
             "values; this is right for depths, but class ids need a MaskField");
  }

  // Once.
  void warn_of_items_left_out() {
    if (has_warned_of_items || parts.stats.num_items_left_out == 0) return;
    const std::lock_guard lock(parts.stats.mutex);
    if (parts.stats.first_left_out.empty()) return;
    has_warned_of_items = true;
    warn(parts.options.on_warning,
         fmt::format("{}: {}; such items and everything that belongs to them are left out, and the "
                     "statistics count them",
                     parts.dataset.path().string(), parts.stats.first_left_out));
  }

  LoaderStatistics statistics() const;

  LoaderParts parts;
  mutable std::mutex order_mutex;  // of parts.sampler, for statistics() in another thread
  const std::string fingerprint;
  const pid_t process = getpid();
  std::atomic<int64_t> started_ns{0};  // 0: not yet
  LoaderStatistics at_epoch_start;
  std::unique_ptr<EpochRun> run;
  Place left;  // without a run: where to go on
  bool has_warned_of_numbers = false;
  bool has_warned_of_items = false;
};

Loader::Loader(Dataset dataset, LoaderOptions options)
    : impl_(errors_only(std::filesystem::path(dataset.path()), -1, kLessMemory, [&] {
        prepare_log(options.on_warning);  // before there are threads
        auto impl = std::make_unique<Impl>(std::move(dataset), std::move(options));
        warn_of_slow_jpeg(impl->parts.options.on_warning);
        return impl;
      })) {}
Loader::~Loader() {
  Impl::end(std::move(impl_));
}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&& other) noexcept {
  if (this != &other) Impl::end(std::exchange(impl_, std::move(other.impl_)));
  return *this;
}

const Dataset& Loader::dataset() const {
  return require(impl_).parts.dataset;
}
const LoaderOptions& Loader::options() const {
  return require(impl_).parts.options;
}
int64_t Loader::num_batches() const {
  return num_batches_on_rank(require(impl_).parts.sampler, 0);
}

void Loader::set_epoch(int64_t epoch) {
  Impl& impl = require(impl_);
  impl.require_own_process();
  if (epoch < 0) {
    throw error_of(ErrorCode::invalid_argument, "epoch is {}; expected 0 or more", epoch);
  }
  impl.errors_only_of([&] { impl.start(epoch, 0); });
}

std::optional<Batch> Loader::next() {
  Impl& impl = require(impl_);
  impl.require_own_process();
  return impl.errors_only_of([&] {
    std::optional<Batch> batch = impl.running().next();
    impl.warn_of_resized_numbers();
    impl.warn_of_items_left_out();
    return batch;
  });
}

bool Loader::wait_for(std::chrono::nanoseconds limit) {
  Impl& impl = require(impl_);
  impl.require_own_process();
  return impl.errors_only_of([&] { return impl.running().wait_for(limit); });
}

bool Loader::ready() const {
  const Impl& impl = require(impl_);
  return impl.is_inherited() || (impl.run != nullptr && impl.run->ready());
}

bool Loader::at_end() const {
  const Impl& impl = require(impl_);
  return impl.run != nullptr && impl.run->at_end();
}

int64_t Loader::num_held_batches() const {
  return require(impl_).parts.slabs->num_held();
}

LoaderState Loader::state() const {
  const Impl& impl = require(impl_);
  const Impl::Place place = impl.place();
  return {.fingerprint = impl.fingerprint,
          .seed = impl.parts.options.sampler.seed,
          .epoch = place.epoch,
          .position = place.position,
          .order = impl.parts.sampler.description()};
}

void Loader::restore(const LoaderState& state) {
  require(impl_).require_own_process();
  const LoaderParts& parts = impl_->parts;
  const auto refuse = [&](const std::string& message) {
    throw error_at(parts.dataset.path(), ErrorCode::invalid_argument, message);
  };
  if (state.fingerprint != impl_->fingerprint) {
    refuse(
        fmt::format("the loader's state belongs to data set {}, but this is data set {}; resume "
                    "with the same data set",
                    state.fingerprint, impl_->fingerprint));
  }
  if (state.seed != parts.options.sampler.seed) {
    refuse(
        fmt::format("the loader's state was saved with seed {}, but the seed is {}; resume with "
                    "the same seed",
                    state.seed, parts.options.sampler.seed));
  }
  std::optional<Sampler> sampler;  // of another order than this loader's
  if (state.order != parts.sampler.description()) {
    sampler = impl_->errors_only_of([&] { return parts.sampler_of_state(state.order); });
  }
  if (state.order != parts.sampler.description() && !sampler) {
    refuse(
        fmt::format("the loader's state was saved with the order '{}', but this loader has the "
                    "order '{}'; resume with the same sampler options",
                    state.order, parts.sampler.description()));
  }
  if (state.epoch < 0 || state.position < 0 || state.position > parts.sampler.epoch_size()) {
    refuse(
        fmt::format("the loader's state has epoch {} and position {}; expected an epoch of 0 or "
                    "more, and a position from 0 to {}",
                    state.epoch, state.position, parts.sampler.epoch_size()));
  }
  if (state.flipped_by_default && crops_without_flips(parts.dataset.schema(), parts.options)) {
    warn(
        parts.options.on_warning,
        parts.dataset.path().string() +
            ": the loader's state was saved when RandomResizedCrop and RandomCrop mirrored half of "
            "the pictures by default, but the crops of this loader mirror none; to continue as "
            "before, give the crops flip_probability=0.5");
  }
  impl_->errors_only_of([&] { impl_->start(state.epoch, state.position, std::move(sampler)); });
}

int64_t Loader::memory_bound() const {
  return require(impl_).parts.memory_bound();
}

LoaderStatistics Loader::statistics() const {
  return require(impl_).statistics();
}

LoaderStatistics Loader::epoch_statistics() const {
  const Impl& impl = require(impl_);
  return impl.statistics().since(impl.at_epoch_start);
}

LoaderStatistics Loader::Impl::statistics() const {
  constexpr double kSecondsPerNs = 1e-9;
  const auto seconds = [](int64_t ns) { return static_cast<double>(ns) * kSecondsPerNs; };
  const StatsCounters& counters = parts.stats;
  LoaderStatistics stats;
  stats.num_batches = counters.num_batches;
  stats.num_samples = counters.num_samples;
  stats.num_replaced = counters.num_replaced;
  stats.num_left_out = counters.num_left_out;
  stats.num_items_left_out = counters.num_items_left_out;
  stats.bytes_read = counters.bytes_read;
  stats.bytes_from_store = counters.bytes_from_store;
  stats.num_reads = counters.num_reads;
  stats.read_seconds = seconds(counters.read_ns);
  stats.checksum_seconds = seconds(counters.checksum_ns);
  stats.decode_seconds = seconds(counters.decode_ns);
  stats.transform_seconds = seconds(counters.transform_ns);
  stats.busy_seconds = seconds(counters.busy_ns);
  stats.wait_seconds = seconds(counters.wait_ns);
  if (started_ns != 0) stats.elapsed_seconds = seconds(now_ns() - started_ns);
  stats.rank = parts.options.sampler.rank;
  stats.world_size = parts.options.sampler.world_size;
  stats.num_threads = parts.options.num_threads;
  stats.prefetch_batches = parts.options.memory.prefetch_batches;
  if (stats.elapsed_seconds > 0) stats.reads_in_flight = stats.read_seconds / stats.elapsed_seconds;
  if (stats.num_batches > 0) {
    stats.ready_batches =
        static_cast<double>(counters.num_ready_batches) / static_cast<double>(stats.num_batches);
  }
  stats.io_engine = parts.engine->description();
  stats.direct_io = parts.files.direct();
  stats.order = order();
  return stats;
}

}  // namespace ffkit
