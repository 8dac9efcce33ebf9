#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/file/file.h"
#include "output/gather.h"

namespace ffkit {
namespace {

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

}  // namespace

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

bool dislikes_scattered_reads(const Source& source, size_t split, std::span<const PackUnit> units) {
  const std::filesystem::path archive = source.archive(split);
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

}  // namespace ffkit
