#include <fmt/format.h>

#include <ffkit/loader/loader_stats.h>

namespace ffkit {
namespace {

double per(double amount, double of) {
  return of > 0 ? amount / of : 0;
}

}  // namespace

std::string LoaderStats::to_string() const {
  constexpr double kMega = 1e6;
  const auto samples = static_cast<double>(num_samples);
  const auto megabytes = static_cast<double>(bytes_read) / kMega;
  const auto stage = [&](const char* name, double seconds) {
    return fmt::format("{:<10} {:9.3f} s summed over threads, {:.1f} us per sample\n", name,
                       seconds, per(seconds * kMega, samples));
  };
  std::string text = fmt::format(
      "samples    {} in {} batches, {} replaced, {:.0f} per second over {:.3f} s\n", num_samples,
      num_batches, num_replaced, per(samples, elapsed_seconds), elapsed_seconds);
  text +=
      fmt::format("read       {} reads, {:.1f} MB, {:.1f} MB/s, mean latency {:.1f} us ({}, {})\n",
                  num_reads, megabytes, per(megabytes, elapsed_seconds),
                  per(read_seconds * kMega, static_cast<double>(num_reads)), io_engine,
                  direct_io ? "O_DIRECT" : "page cache");
  text += stage("checksum", checksum_seconds);
  text += stage("decode", decode_seconds);
  text += stage("transform", transform_seconds);
  text += fmt::format("wait       {:9.3f} s of the consumer in next(), {:.1f} % of the time\n",
                      wait_seconds, 100 * per(wait_seconds, elapsed_seconds));
  return text;
}

}  // namespace ffkit
