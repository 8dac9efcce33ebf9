#include "output/make_shards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ffkit/base/option_names.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "input/cancel.h"
#include "output/destination_checks.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr size_t kProbeBytes = 128 << 10;  // about a picture
constexpr size_t kNumPieces = 24;
constexpr size_t kNumThreads = 8;
constexpr int64_t kSmallBytes = 1LL << 30;  // not worth asking
constexpr double kMuchSlower = 3;

using Clock = std::chrono::steady_clock;

// Seconds that it takes to read pieces of the file past the page cache, or less than 0 when that
// cannot be done.
double read_seconds(int fd, const std::vector<int64_t>& offsets) {
  std::vector<std::jthread> threads;  // which join when one of them cannot be started
  std::vector<char> ok(kNumThreads, 1);
  const auto start = Clock::now();
  for (size_t t = 0; t < kNumThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::unique_ptr<void, decltype(&std::free)> piece(std::aligned_alloc(4096, kProbeBytes),
                                                              &std::free);
      for (size_t i = t; i < offsets.size(); i += kNumThreads) {
        if (piece == nullptr || ::pread(fd, piece.get(), kProbeBytes, offsets[i]) <= 0) ok[t] = 0;
      }
    });
  }
  for (std::jthread& thread : threads) thread.join();
  if (std::ranges::find(ok, 0) != ok.end()) return -1;
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Whether the samples of `units` are in another order than they lie in (Source::position()).
bool is_scattered(const Source& source, size_t split, std::span<const PackUnit> units) {
  int64_t last = -1;
  for (const PackUnit& unit : units) {
    for (const int64_t sample : unit.samples) {
      const int64_t position = source.position(split, sample);
      if (position < last) return true;
      last = position;
    }
  }
  return false;
}

void note(const ConvertOptions& options, const std::string& sentence) {
  if (options.note) options.note(sentence);
}

// Of a source whose samples are read in their order alone.
bool must_gather(const Source& source, const SplitPlan& plan, std::span<const PackUnit> units,
                 const fs::path& folder, const ConvertOptions& options) {
  if (!is_scattered(source, plan.split, units)) return false;
  const std::string in_order = option_set("order", "sequential");
  if (Place(folder).is_in_store()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("split '{}' is shuffled, but its samples can only be read in order, "
                            "and a store cannot hold the temporary files that this needs; "
                            "convert to a folder and copy the result, or keep the order with {}",
                            plan.manifest.split, in_order),
                {.path = folder.string(), .subject = ErrorSubject::destination});
  }
  const int64_t needed = 2 * bytes_of(plan, units);
  if (const int64_t num_free = free_space(folder); needed > num_free) {
    throw error_at(folder, ErrorCode::io,
                   "shuffling split '{}' needs {} MB for shards and temporary files, but "
                   "only {} MB are free; free some space, or keep the "
                   "order with {}",
                   plan.manifest.split, needed / 1'000'000, num_free / 1'000'000, in_order)
        .with_subject(ErrorSubject::destination);
  }
  note(options, fmt::format("{}: read once, front to back, and shuffled in files beside the shards",
                            plan.manifest.split));
  return true;
}

// `folder`: a path, or the address of a store.
bool reads_by_gathering(const Source& source, const SplitPlan& plan,
                        std::span<const PackUnit> units, const fs::path& folder,
                        const ConvertOptions& options) {
  if (units.empty()) return false;
  if (options.read != ReadMode::automatic) return options.read == ReadMode::gather;
  if (!Place(folder).is_in_store() && is_gathered(folder)) return true;
  if (source.reads_in_order()) return must_gather(source, plan, units, folder, options);
  if (!dislikes_scattered_reads(source, plan.split, units)) return false;
  if (Place(folder).is_in_store()) {
    note(options,
         fmt::format("{}: random reads are slow on the disk of {}, but reading it in order needs "
                     "temporary files, which a store cannot hold; it is read at random",
                     plan.manifest.split, source.archive(plan.split).string()));
    return false;
  }
  const int64_t needed = 2 * bytes_of(plan, units);
  if (const int64_t num_free = free_space(folder); needed > num_free) {
    note(options,
         fmt::format("{}: random reads are slow on the disk of {}, but reading it in order needs "
                     "{} MB of temporary files and only {} MB are free; it is read at random",
                     plan.manifest.split, source.archive(plan.split).string(), needed / 1'000'000,
                     num_free / 1'000'000));
    return false;
  }
  note(options,
       fmt::format("{}: random reads are slow on the disk of {}; it is read once, front to back, "
                   "with temporary files beside the shards",
                   plan.manifest.split, source.archive(plan.split).string()));
  return true;
}

}  // namespace

bool dislikes_scattered_reads(const Source& source, size_t split, std::span<const PackUnit> units) {
  const fs::path archive = source.archive(split);
  if (archive.empty() || !is_scattered(source, split, units)) return false;
  const int fd = open_descriptor(archive, O_RDONLY | O_DIRECT);
  if (fd < 0) return false;
  const int64_t size = ::lseek(fd, 0, SEEK_END);
  bool dislikes = false;
  if (size >= kSmallBytes) {
    constexpr auto kPiece = static_cast<int64_t>(kProbeBytes);
    std::vector<int64_t> scattered;
    std::vector<int64_t> run;
    for (size_t i = 0; i < kNumPieces; ++i) {
      const auto number = static_cast<int64_t>(i);
      // Far apart, up and down.
      scattered.push_back(size / static_cast<int64_t>(kNumPieces) * (number * 7 % 24) / kPiece *
                          kPiece);
      run.push_back(size / 2 / kPiece * kPiece + number * kPiece);
    }
    const double first = read_seconds(fd, {run.begin(), run.begin() + 1});  // wakes the disk
    const double in_a_run = first < 0 ? -1 : read_seconds(fd, run);
    const double apart = in_a_run < 0 ? -1 : read_seconds(fd, scattered);
    dislikes = apart > kMuchSlower * in_a_run && apart > 0;
  }
  ::close(fd);
  return dislikes;
}

int64_t bytes_of(const SplitPlan& plan, std::span<const PackUnit> units) {
  int64_t num_bytes = 0;
  for (const PackUnit& unit : units) num_bytes += plan.bytes_of(unit.number);
  return num_bytes;
}

void make_shards(const Source& source, const SplitPlan& plan, std::span<const PackUnit> units,
                 const fs::path& folder, const ConvertOptions& options, SplitWriter& writer,
                 const std::function<void(const PackProgress&)>& on_progress) {
  if (reads_by_gathering(source, plan, units, folder, options)) {
    if (!Place(folder).is_in_store()) fs::create_directories(folder);
    gather_samples(source, plan, units, folder, options, writer, on_progress);
    return;
  }
  pack_samples(source, plan.split, units, options, plan.compression, writer, on_progress);
  throw_if_cancelled(options.cancel);
}

}  // namespace ffkit
