// Requests and bytes of an epoch in the default order over a store: the real Sampler over a made
// set of records, the cache's rule of blocks, and no network.
//
//   order_table [--records N] [--mean BYTES] [--batch N] [--window-blocks N] [--streams N]
//
// Each rank announces the blocks of its windows. A machine fetches each block of the cache that
// they touch once, whole, and those of one announcement by one request, as the cache does. Each
// rank reads both ends of each shard that it opens. What is read by record while the blocks of it
// are on their way follows from the rate of a rank's link: the first 64 batches of rank 0, by the
// rules of FetchQueue (two runs at first, one more after each that came, up to 16) and of
// FetchAhead (the first batch at once, then four records at a time), a link whose requests in
// flight have equal shares, and a consumer that takes all it gets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/loader/sampler.h>

#include "base/mix64.h"
#include "storage/cache/block_run.h"
#include "storage/cache/fetch_queue.h"

namespace ffkit {
namespace {

constexpr int64_t kShardBytes = 256 << 20;
constexpr int64_t kHeaderBytes = 4096;
constexpr int64_t kEndBytes = 256 << 10;
// Of usual windows, which are more than what is announced at least.
constexpr int64_t kAheadBytes = 512 << 20;

struct Record {
  int32_t shard = 0;
  int64_t offset = 0;
  int64_t num_bytes = 0;
};

struct MadeSet {
  std::vector<Record> records;
  std::shared_ptr<RecordPlaces> places = std::make_shared<RecordPlaces>();
  std::vector<int64_t> first_block;  // of each shard, and the number of all at the end
  std::vector<int64_t> shard_bytes;
  int64_t num_bytes = 0;

  int64_t block_bytes(int64_t block) const {
    const auto shard =
        std::prev(std::ranges::upper_bound(first_block, block)) - first_block.begin();
    const int64_t begin = (block - first_block[static_cast<size_t>(shard)]) * kBlockBytes;
    return std::min(kBlockBytes, shard_bytes[static_cast<size_t>(shard)] - begin);
  }
};

// Sizes as those of photographs: their logarithms are spread by 0.6.
MadeSet make_set(int64_t num_records, int64_t mean_bytes) {
  constexpr double kSpread = 0.6;
  MadeSet set;
  set.records.reserve(static_cast<size_t>(num_records));
  int64_t offset = kHeaderBytes;
  const auto end_shard = [&] {
    set.shard_bytes.push_back(offset + kEndBytes);
    set.places->runs.back().num_bytes = offset - kHeaderBytes;
    offset = kHeaderBytes;
  };
  for (int64_t i = 0; i < num_records; ++i) {
    const auto uniform = [&](uint64_t key) {
      return (static_cast<double>(mix64(key, static_cast<uint64_t>(i)) >> 11) + 0.5) * 0x1p-53;
    };
    const double normal =
        std::sqrt(-2 * std::log(uniform(1))) * std::cos(2 * std::numbers::pi * uniform(2));
    const auto num_bytes = static_cast<int64_t>(static_cast<double>(mean_bytes) *
                                                std::exp(kSpread * normal - kSpread * kSpread / 2));
    if (set.places->runs.empty() || offset + num_bytes > kShardBytes) {
      if (!set.places->runs.empty()) end_shard();
      set.places->runs.emplace_back();
    }
    ++set.places->runs.back().num_records;
    set.records.push_back({static_cast<int32_t>(set.places->runs.size()) - 1, offset, num_bytes});
    offset += num_bytes;
  }
  end_shard();
  set.first_block.push_back(0);
  for (const int64_t bytes : set.shard_bytes) {
    set.num_bytes += bytes;
    set.first_block.push_back(set.first_block.back() + (bytes + kBlockBytes - 1) / kBlockBytes);
  }
  return set;
}

// The blocks of the cache, of the whole set, that hold records `first` to `last` of one shard.
BlockRun blocks_of(const MadeSet& set, const Record& first, const Record& last) {
  BlockRun run = blocks_that_hold(first.offset, last.offset + last.num_bytes - first.offset);
  run.first += set.first_block[static_cast<size_t>(first.shard)];
  return run;
}
BlockRun blocks_of(const MadeSet& set, const Sampler::Block& block) {
  return blocks_of(set, set.records[static_cast<size_t>(block.first)],
                   set.records[static_cast<size_t>(block.last)]);
}

// Of a run, what is asked for: the blocks for which `is_wanted` is true.
template <typename IsWanted>
std::vector<BlockRun> wanted_of(const BlockRun& run, const IsWanted& is_wanted) {
  std::vector<int64_t> blocks;
  for (int64_t block = run.first; block < run.end(); ++block) {
    if (is_wanted(block)) blocks.push_back(block);
  }
  return runs_of(blocks);
}

struct Counts {
  int64_t num_requests = 0;
  int64_t num_bytes = 0;
};

struct Settings {
  int64_t batch_size = 256;
  int64_t window_blocks = 64;
  int64_t num_streams = 0;  // 0: as many as ranks
  double bytes_per_s = 125e6;
  double round_trip_s = 0.05;
};

Sampler sampler_of(const MadeSet& set, const Settings& settings, int rank, int world_size) {
  return {
      std::ssize(set.records),
      settings.batch_size,
      {.order = Order::windowed,
       .tail = Tail::even,
       .seed = 1,
       .rank = rank,
       .world_size = world_size,
       .windows = {.window_blocks = settings.window_blocks,
                   .window_block_bytes = kStoreBlockBytes,
                   .places = set.places,
                   .num_streams = settings.num_streams > 0 ? settings.num_streams : world_size}}};
}

// All machines together.
Counts count_blocks(const MadeSet& set, const Settings& settings, int num_nodes,
                    int ranks_per_node) {
  Counts counts;
  const int world_size = num_nodes * ranks_per_node;
  std::vector<Sampler::Block> blocks;
  for (int node = 0; node < num_nodes; ++node) {
    std::vector<bool> is_there(static_cast<size_t>(set.first_block.back()));
    for (int rank = node * ranks_per_node; rank < (node + 1) * ranks_per_node; ++rank) {
      const Sampler sampler = sampler_of(set, settings, rank, world_size);
      std::set<int64_t> announced;
      std::set<int32_t> opened;
      for (int64_t step = 0; step < sampler.num_batches(); ++step) {
        sampler.blocks(0, 0, step, blocks);
        for (const Sampler::Block& block : blocks) {
          if (!announced.insert(block.first).second) continue;
          if (opened.insert(set.records[static_cast<size_t>(block.first)].shard).second) {
            counts.num_requests += 2;
            counts.num_bytes += kEndBytes + kHeaderBytes;
          }
          const auto is_wanted = [&](int64_t b) { return !is_there[static_cast<size_t>(b)]; };
          for (const BlockRun& run : wanted_of(blocks_of(set, block), is_wanted)) {
            ++counts.num_requests;
            for (int64_t b = run.first; b < run.end(); ++b) {
              is_there[static_cast<size_t>(b)] = true;
              counts.num_bytes += set.block_bytes(b);
            }
          }
        }
      }
    }
  }
  return counts;
}

// The same without a cache, or with a full one: each rank fetches each block of its windows once,
// by the bytes of its records.
Counts count_ranges(const MadeSet& set, const Settings& settings, int world_size) {
  Counts counts;
  std::vector<Sampler::Block> blocks;
  for (int rank = 0; rank < world_size; ++rank) {
    const Sampler sampler = sampler_of(set, settings, rank, world_size);
    std::set<int64_t> fetched;
    std::set<int32_t> opened;
    for (int64_t step = 0; step < sampler.num_batches(); ++step) {
      sampler.blocks(0, 0, step, blocks);
      for (const Sampler::Block& block : blocks) {
        if (!fetched.insert(block.first).second) continue;
        const Record& first = set.records[static_cast<size_t>(block.first)];
        const Record& last = set.records[static_cast<size_t>(block.last)];
        ++counts.num_requests;
        counts.num_bytes += last.offset + last.num_bytes - first.offset;
        if (!opened.insert(first.shard).second) continue;
        counts.num_requests += 2;
        counts.num_bytes += kEndBytes + kHeaderBytes;
      }
    }
  }
  return counts;
}

// What one rank reads by record before its blocks come, and when its first batch is there.
struct Start {
  Counts alone;
  double first_batch_s = 0;
};

Start simulate_start(const MadeSet& set, const Settings& settings, int world_size) {
  constexpr size_t kReadsInFlight = 64;
  constexpr size_t kFewComing = 4;
  constexpr int64_t kMostComingShare = 32;
  constexpr int64_t kMostComingShareOfSmall = 8;
  constexpr int64_t kSmallBytes = 64 << 20;
  struct Flight {
    double left = 0;    // bytes
    double begins = 0;  // when its bytes may flow
    BlockRun run;       // none: a record
    int64_t sample = -1;
  };
  const Sampler sampler = sampler_of(set, settings, 0, world_size);
  const int64_t num_steps = std::min<int64_t>(sampler.num_batches(), 64);
  std::vector<int64_t> order;
  std::vector<int64_t> batch;
  for (int64_t step = 0; step < num_steps; ++step) {
    sampler.batch(0, 0, step, batch);
    order.insert(order.end(), batch.begin(), batch.end());
  }
  Start start;
  std::set<int64_t> there;
  std::set<int64_t> underway;
  std::vector<Flight> flights;
  std::multimap<int64_t, int64_t> waiting;  // samples by block
  int max_runs = FetchQueue::kUnderwayAtFirst;
  int num_runs = 0;  // underway
  size_t num_reading = 0;
  size_t num_coming = 0;  // of them, of what is not there
  const int64_t batch_bytes = set.num_bytes / std::ssize(set.records) * settings.batch_size;
  const int64_t epoch_bytes = set.num_bytes / world_size;
  const int64_t most_at_once =
      std::min(batch_bytes,
               std::max(epoch_bytes / kMostComingShare,
                        std::min(epoch_bytes / kMostComingShareOfSmall, kSmallBytes / world_size)));
  int64_t coming_bytes = 0;
  size_t next = 0;
  int64_t num_left_of_first = settings.batch_size;
  double now = 0;
  std::deque<BlockRun> announced;
  std::set<int64_t> was_announced;  // blocks of windows, by their first record
  std::vector<Sampler::Block> blocks;
  int64_t announced_step = 0;
  int64_t announced_bytes = 0;
  const auto begin_run = [&](const BlockRun& run) {
    double num_bytes = 0;
    for (int64_t block = run.first; block < run.end(); ++block) {
      underway.insert(block);
      num_bytes += static_cast<double>(set.block_bytes(block));
    }
    ++num_runs;
    flights.push_back({num_bytes, now + settings.round_trip_s, run, -1});
  };
  const auto done = [&](int64_t sample) {
    --num_reading;
    if (sample < settings.batch_size && --num_left_of_first == 0) start.first_batch_s = now;
  };
  while (next < order.size() || num_reading > 0) {
    for (; announced_step < num_steps && announced_bytes < kAheadBytes; ++announced_step) {
      sampler.batch(0, 0, announced_step, batch);
      for (const int64_t index : batch) {
        announced_bytes += set.records[static_cast<size_t>(index)].num_bytes;
      }
      sampler.blocks(0, 0, announced_step, blocks);
      for (const Sampler::Block& block : blocks) {
        if (was_announced.insert(block.first).second) announced.push_back(blocks_of(set, block));
      }
    }
    while (num_runs < max_runs && !announced.empty()) {
      const auto is_wanted = [&](int64_t b) { return !there.contains(b) && !underway.contains(b); };
      for (const BlockRun& run : wanted_of(announced.front(), is_wanted)) begin_run(run);
      announced.pop_front();
    }
    while (next < order.size() && num_reading < kReadsInFlight) {
      const auto sample = static_cast<int64_t>(next);
      const Record& record = set.records[static_cast<size_t>(order[next])];
      int64_t wanted = -1;
      const BlockRun held_by = blocks_of(set, record, record);
      for (int64_t block = held_by.first; block < held_by.end(); ++block) {
        if (!there.contains(block)) wanted = block;
      }
      if (wanted >= 0 && num_coming >= kFewComing && coming_bytes > most_at_once) break;
      ++next;
      announced_bytes -= record.num_bytes;
      ++num_reading;
      if (wanted >= 0) {
        ++num_coming;
        coming_bytes += record.num_bytes;
      }
      if (wanted < 0) {
        done(sample);
      } else if (underway.contains(wanted)) {
        waiting.emplace(wanted, sample);
      } else {
        ++start.alone.num_requests;
        start.alone.num_bytes += record.num_bytes;
        flights.push_back(
            {static_cast<double>(record.num_bytes), now + settings.round_trip_s, {}, sample});
      }
    }
    if (flights.empty()) continue;
    // To the next moment at which a request ends or begins to flow.
    int64_t num_flowing = 0;
    for (const Flight& flight : flights) num_flowing += flight.begins <= now ? 1 : 0;
    const double share =
        settings.bytes_per_s / static_cast<double>(std::max<int64_t>(num_flowing, 1));
    double until = std::numeric_limits<double>::max();
    for (const Flight& flight : flights) {
      until = std::min(until, flight.begins <= now ? now + flight.left / share : flight.begins);
    }
    for (Flight& flight : flights) {
      if (flight.begins <= now) flight.left -= (until - now) * share;
    }
    now = until;
    std::vector<Flight> ended;
    std::erase_if(flights, [&](const Flight& flight) {
      const bool is_over = flight.begins < now && flight.left < 1e-3;
      if (is_over) ended.push_back(flight);
      return is_over;
    });
    for (const Flight& flight : ended) {
      if (flight.run.count == 0) {
        done(flight.sample);
        --num_coming;
        continue;
      }
      --num_runs;
      max_runs = std::min(max_runs + 1, FetchQueue::kMostUnderway);
      for (int64_t block = flight.run.first; block < flight.run.end(); ++block) {
        underway.erase(block);
        there.insert(block);
        for (auto [i, end] = waiting.equal_range(block); i != end; ++i) {
          done(i->second);
          --num_coming;
        }
        waiting.erase(block);
      }
    }
  }
  return start;
}

}  // namespace
}  // namespace ffkit

int main(int argc, char** argv) {
  CLI::App app("Requests and bytes of an epoch over a store, by count");
  int64_t num_records = 1'281'167;
  int64_t mean_bytes = 110'000;
  ffkit::Settings settings;
  app.add_option("--records", num_records)->check(CLI::Range(int64_t{1}, int64_t{100'000'000}));
  app.add_option("--mean", mean_bytes, "bytes of a record");
  app.add_option("--batch", settings.batch_size, "of a rank");
  app.add_option("--window-blocks", settings.window_blocks);
  app.add_option("--streams", settings.num_streams, "0: as many as ranks");
  app.add_option("--rate", settings.bytes_per_s, "of a rank's link, bytes a second");
  CLI11_PARSE(app, argc, argv);
  const ffkit::MadeSet set = ffkit::make_set(num_records, mean_bytes);
  fmt::print("{} records, {:.1f} GB in {} shards, {} blocks; batches of {}, windows of {} blocks\n",
             num_records, static_cast<double>(set.num_bytes) / 1e9, set.shard_bytes.size(),
             set.first_block.back(), settings.batch_size, settings.window_blocks);
  fmt::print(
      "             through the cache     and by record meanwhile               no cache\n"
      "nodes ranks  requests bytes/set    requests bytes/set first batch  requests bytes/set\n");
  for (const int nodes : {1, 4, 64}) {
    for (const int ranks : {1, 8}) {
      const ffkit::Counts counts = ffkit::count_blocks(set, settings, nodes, ranks);
      const ffkit::Start start = ffkit::simulate_start(set, settings, nodes * ranks);
      const auto share = [&](int64_t num_bytes) {
        return static_cast<double>(num_bytes) / static_cast<double>(set.num_bytes);
      };
      const ffkit::Counts ranges = ffkit::count_ranges(set, settings, nodes * ranks);
      fmt::print("{:>5} {:>5} {:>9} {:>9.4f} {:>11} {:>9.4f} {:>9.2f} s {:>9} {:>9.4f}\n", nodes,
                 ranks, counts.num_requests, share(counts.num_bytes),
                 counts.num_requests + start.alone.num_requests * nodes * ranks,
                 share(counts.num_bytes + start.alone.num_bytes * nodes * ranks),
                 start.first_batch_s, ranges.num_requests, share(ranges.num_bytes));
    }
  }
}
