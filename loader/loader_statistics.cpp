#include <fmt/format.h>

#include <ffkit/loader/loader_statistics.h>

namespace ffkit {
namespace {

double per(double amount, double of) {
  return of > 0 ? amount / of : 0;
}

// A consumer that waits less than this for its batches has nothing to gain from a faster loader.
constexpr double kWaitThatMatters = 0.05;
// Threads as busy as this have nothing left to give; the rest is waking up and being preempted.
constexpr double kBusy = 0.85;
// A disk or a store that is waited for has a read underway nearly all the time.
constexpr double kReadsThatMatter = 0.5;

// Whether enough comes from a store to be what takes the time: its reads are 10 to 100 times as
// slow as those of a disk.
bool waits_for_store(const LoaderStatistics& statistics) {
  constexpr int64_t kShareThatMatters = 20;
  return statistics.bytes_from_store > 0 &&
         statistics.bytes_from_store >= statistics.bytes_read / kShareThatMatters;
}

}  // namespace

LoaderStatistics LoaderStatistics::since(const LoaderStatistics& earlier) const {
  LoaderStatistics between = *this;
  between.num_batches -= earlier.num_batches;
  between.num_samples -= earlier.num_samples;
  between.num_replaced -= earlier.num_replaced;
  between.bytes_read -= earlier.bytes_read;
  between.bytes_from_store -= earlier.bytes_from_store;
  between.num_reads -= earlier.num_reads;
  between.read_seconds -= earlier.read_seconds;
  between.checksum_seconds -= earlier.checksum_seconds;
  between.decode_seconds -= earlier.decode_seconds;
  between.transform_seconds -= earlier.transform_seconds;
  between.busy_seconds -= earlier.busy_seconds;
  between.wait_seconds -= earlier.wait_seconds;
  between.elapsed_seconds -= earlier.elapsed_seconds;
  between.reads_in_flight = per(between.read_seconds, between.elapsed_seconds);
  between.ready_batches = per(ready_batches * static_cast<double>(num_batches) -
                                  earlier.ready_batches * static_cast<double>(earlier.num_batches),
                              static_cast<double>(between.num_batches));
  return between;
}

std::string LoaderStatistics::verdict() const {
  if (num_batches == 0) return "no batch has been taken yet";
  const double waiting = per(wait_seconds, elapsed_seconds);
  const double busy = per(busy_seconds, elapsed_seconds * num_threads);
  const std::string threads =
      fmt::format("{} thread{} at {:.0f} %", num_threads, num_threads == 1 ? "" : "s", 100 * busy);
  if (waiting < kWaitThatMatters) {
    return fmt::format("consumer-bound: it waits {:.1f} % of the time; {}", 100 * waiting, threads);
  }
  if (busy >= kBusy) return fmt::format("decode-bound: {}", threads);
  if (reads_in_flight < kReadsThatMatter) {
    return fmt::format(
        "overhead-bound: {:.1f} reads in flight; {}: what each batch costs besides, at {:.0f} "
        "batches/s; larger batches need less of it",
        reads_in_flight, threads, per(static_cast<double>(num_batches), elapsed_seconds));
  }
  return fmt::format("{}-bound: {:.0f} MB/s, {:.1f} reads in flight of {:.1f} ms each; {}",
                     waits_for_store(*this) ? "network" : "disk",
                     per(static_cast<double>(bytes_read) * 1e-6, elapsed_seconds), reads_in_flight,
                     per(read_seconds * 1e3, static_cast<double>(num_reads)), threads);
}

std::string to_string(const LoaderStatistics& s) {
  constexpr double kMega = 1e6;
  const auto samples = static_cast<double>(s.num_samples);
  const auto megabytes = static_cast<double>(s.bytes_read) / kMega;
  const auto stage = [&](const char* name, double seconds) {
    return fmt::format("{:<10} {:9.3f} s summed over threads, {:.1f} us per sample\n", name,
                       seconds, per(seconds * kMega, samples));
  };
  std::string text = fmt::format("share      rank {} of {}{}\n", s.rank, s.world_size,
                                 s.world_size == 1 ? ": the whole epoch" : "");
  if (!s.order.empty()) text += fmt::format("order      {}\n", s.order);
  text += fmt::format("samples    {} in {} batches, {} replaced, {:.0f} per second over {:.3f} s\n",
                      s.num_samples, s.num_batches, s.num_replaced, per(samples, s.elapsed_seconds),
                      s.elapsed_seconds);
  text += fmt::format(
      "read       {} reads, {:.1f} MB, {:.1f} MB/s, {:.1f} in flight, mean latency {:.1f} us ({}, "
      "{})\n",
      s.num_reads, megabytes, per(megabytes, s.elapsed_seconds), s.reads_in_flight,
      per(s.read_seconds * kMega, static_cast<double>(s.num_reads)), s.io_engine,
      s.direct_io ? "O_DIRECT" : "page cache");
  if (s.bytes_from_store > 0) {
    text += fmt::format("store      {:.1f} MB were not in the cache when they were asked for\n",
                        static_cast<double>(s.bytes_from_store) / kMega);
  }
  text += stage("checksum", s.checksum_seconds);
  text += stage("decode", s.decode_seconds);
  text += stage("transform", s.transform_seconds);
  text += fmt::format("ready      {:.1f} of {} batches when one was asked for\n", s.ready_batches,
                      s.prefetch_batches);
  text += fmt::format("wait       {:9.3f} s of the consumer in next(), {:.1f} % of the time\n",
                      s.wait_seconds, 100 * per(s.wait_seconds, s.elapsed_seconds));
  text += s.verdict() + "\n";
  return text;
}

}  // namespace ffkit
