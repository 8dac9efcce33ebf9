#include <fmt/format.h>

#include <optional>

#include <ffkit/loader/loader_state.h>

#include "base/make_error.h"
#include "base/number_text.h"

namespace ffkit {
namespace {

constexpr std::string_view kKind = "ffkit-loader-state-2";
constexpr std::string_view kKindBefore = "ffkit-loader-state-1";

// Takes "name=value" off the front of `text`, up to the next space, or to its end.
class StateParser {
 public:
  explicit StateParser(std::string_view text) : whole_(text), left_(text) {}

  void expect(std::string_view word) {
    if (!takes(word)) refuse(word);
  }
  bool takes(std::string_view word) { return take_text(left_, word); }
  std::string_view word(std::string_view name) {
    expect(name);
    const std::string_view value = left_.substr(0, left_.find(' '));
    left_.remove_prefix(value.size());
    return value;
  }
  template <typename T>
  T number(std::string_view name) {
    const std::optional<T> value = number_of_text<T>(word(name));
    if (!value) refuse(name);
    return *value;
  }
  std::string_view rest(std::string_view name) {
    expect(name);
    return left_;
  }

 private:
  [[noreturn]] void refuse(std::string_view expected) const {
    throw error_of(ErrorCode::invalid_argument,
                   "'{}' is not the text of a loader's state: expected '{}' after {} characters; "
                   "give the text as it was saved",
                   whole_.substr(0, 200), expected, whole_.size() - left_.size());
  }

  std::string_view whole_;
  std::string_view left_;
};

}  // namespace

std::string LoaderState::to_text() const {
  return fmt::format("{} data={} seed={} epoch={} position={} order={}",
                     flipped_by_default ? kKindBefore : kKind, fingerprint, seed, epoch, position,
                     order);
}

LoaderState LoaderState::from_text(std::string_view text) {
  StateParser parser(text);
  LoaderState state;
  state.flipped_by_default = parser.takes(kKindBefore);
  if (!state.flipped_by_default) parser.expect(kKind);
  state.fingerprint = parser.word(" data=");
  state.seed = parser.number<uint64_t>(" seed=");
  state.epoch = parser.number<int64_t>(" epoch=");
  state.position = parser.number<int64_t>(" position=");
  state.order = parser.rest(" order=");
  return state;
}

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
  using S = LoaderStatistics;
  for (const auto count :
       {&S::num_batches, &S::num_samples, &S::num_replaced, &S::num_left_out,
        &S::num_items_left_out, &S::bytes_read, &S::bytes_from_store, &S::num_reads}) {
    between.*count -= earlier.*count;
  }
  for (const auto seconds :
       {&S::read_seconds, &S::checksum_seconds, &S::decode_seconds, &S::transform_seconds,
        &S::busy_seconds, &S::wait_seconds, &S::elapsed_seconds}) {
    between.*seconds -= earlier.*seconds;
  }
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
        "overhead-bound: {:.1f} reads in flight; {}: each batch has fixed costs, at {:.0f} "
        "batches/s; use larger batches",
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
  text +=
      fmt::format("samples    {} in {} batches, {} replaced, {}{:.0f} per second over {:.3f} s\n",
                  s.num_samples, s.num_batches, s.num_replaced,
                  s.num_left_out > 0 ? fmt::format("{} left out, ", s.num_left_out) : "",
                  per(samples, s.elapsed_seconds), s.elapsed_seconds);
  if (s.num_items_left_out > 0) {
    text += fmt::format("left out   {} bad items of these samples\n", s.num_items_left_out);
  }
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
