// How fast shards are checked, written, read and opened, and the ceilings beside it: memcpy,
// write(2) and pread(2) of the same bytes.
//
// Files are made in $TMPDIR (/tmp): the file system to be measured. FFKIT_BENCH_MB is what one
// writer's iteration writes and what the reader reads from, FFKIT_BENCH_SHARDS and
// FFKIT_BENCH_SHARD_RECORDS the size of the data set that is opened. Run with
// --benchmark_repetitions=5 --benchmark_report_aggregates_only=true for median and spread.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <ffkit/base/crc32c.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>

#include "base/bytes/crc32c_paths.h"
#include "temp_dir.h"

namespace {

using namespace ffkit;

constexpr size_t kImageRecordBytes = 110'000;  // about ImageNet's mean

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::atoll(text);
}

int64_t bench_bytes() {
  return setting("FFKIT_BENCH_MB", 32) << 20;
}

void check(bool is_good, const char* what) {
  if (!is_good) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

std::vector<std::byte> random_bytes(size_t size) {
  std::mt19937_64 random(size);
  std::vector<std::byte> data(size);
  for (auto& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

Schema schema() {
  return {{{.name = "image", .type = FieldType::image},
           {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true}}};
}

// Different records of `record_bytes` each, all of bench_bytes() together.
std::vector<std::vector<std::byte>> make_records(size_t record_bytes) {
  const Schema fields = schema();
  RecordBuilder builder(fields);
  const auto image = random_bytes(record_bytes - 24);
  std::vector<std::vector<std::byte>> records(static_cast<size_t>(bench_bytes()) / record_bytes);
  for (size_t i = 0; i < records.size(); ++i) {
    builder.set_bytes(0, image);
    builder.set_scalar<int64_t>(1, static_cast<int64_t>(i));
    builder.encode(records[i]);
  }
  return records;
}

void set_bytes(benchmark::State& state, int64_t bytes_an_iteration) {
  state.SetBytesProcessed(state.iterations() * bytes_an_iteration);
}

void crc_of(benchmark::State& state, const Crc32cPath& path) {
  const auto data = random_bytes(static_cast<size_t>(state.range(0)));
  uint32_t crc = 0;
  for (auto _ : state) benchmark::DoNotOptimize(crc = path.extend(crc, data.data(), data.size()));
  set_bytes(state, state.range(0));
}

void memcpy_of(benchmark::State& state) {
  const auto from = random_bytes(static_cast<size_t>(state.range(0)));
  std::vector<std::byte> to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  set_bytes(state, state.range(0));
}

// One iteration writes a shard, from the first byte to the durable name.
void shard_writer(benchmark::State& state) {
  const auto records = make_records(static_cast<size_t>(state.range(0)));
  const testing::TempDir dir;
  ShardSummary summary;
  for (auto _ : state) {
    ShardWriter writer(dir / "shard.ffr", schema());
    for (const auto& record : records) writer.append(record);
    summary = writer.finish();
    state.PauseTiming();
    std::filesystem::remove(dir / "shard.ffr");
    state.ResumeTiming();
  }
  set_bytes(state, summary.file_bytes);
}

// As many bytes by write(2), a MiB at a time, and fsync.
void plain_write(benchmark::State& state) {
  const auto data = random_bytes(static_cast<size_t>(bench_bytes()));
  const testing::TempDir dir;
  for (auto _ : state) {
    const int fd = ::open((dir / "plain").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    check(fd >= 0, "open");
    for (size_t done = 0; done < data.size();) {
      const ssize_t n =
          ::write(fd, data.data() + done, std::min<size_t>(1 << 20, data.size() - done));
      check(n > 0, "write");
      done += static_cast<size_t>(n);
    }
    check(::fsync(fd) == 0, "fsync");
    check(::close(fd) == 0, "close");
    state.PauseTiming();
    std::filesystem::remove(dir / "plain");
    state.ResumeTiming();
  }
  set_bytes(state, static_cast<int64_t>(data.size()));
}

// A shard of photographs' size in the page cache, and random batches of 64 of its records.
class RandomBatches {
 public:
  static constexpr size_t kBatch = 64;

  RandomBatches() {
    const auto records = make_records(kImageRecordBytes);
    ShardWriter writer(dir_ / "shard.ffr", schema());
    for (const auto& record : records) writer.append(record);
    writer.finish();
    reader_ = std::make_unique<ShardReader>(dir_ / "shard.ffr");
    fd_ = ::open((dir_ / "shard.ffr").c_str(), O_RDONLY | O_CLOEXEC);
    check(fd_ >= 0, "open");
    for (size_t i = 0; i < kBatch; ++i) reader_->read(next(), batch_[i]);
  }
  ~RandomBatches() { ::close(fd_); }

  const ShardReader& reader() const { return *reader_; }
  int fd() const { return fd_; }
  std::vector<std::byte>& slot(size_t i) { return batch_[i]; }
  int64_t next() {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(reader_->num_records()));
  }

 private:
  testing::TempDir dir_;
  std::unique_ptr<ShardReader> reader_;
  int fd_ = -1;
  std::mt19937_64 random_{1};
  std::vector<std::byte> batch_[kBatch];
};

template <typename Read>
void read_batches(benchmark::State& state, const Read& read) {
  RandomBatches batches;
  for (auto _ : state) {
    for (size_t i = 0; i < RandomBatches::kBatch; ++i) read(batches, i);
  }
  set_bytes(state, static_cast<int64_t>(RandomBatches::kBatch * batches.slot(0).size()));
}

void shard_reader(benchmark::State& state) {
  read_batches(state, [](RandomBatches& batches, size_t i) {
    batches.reader().read(batches.next(), batches.slot(i));
  });
}

void plain_pread(benchmark::State& state) {
  read_batches(state, [](RandomBatches& batches, size_t i) {
    const RecordLocation where = batches.reader().locate(batches.next());
    const ssize_t n =
        ::pread(batches.fd(), batches.slot(i).data(), batches.slot(i).size(), where.offset);
    check(n == where.stored_bytes, "pread");
  });
}

void memcpy_batch(benchmark::State& state) {
  const auto records = make_records(kImageRecordBytes);
  read_batches(state, [&](RandomBatches& batches, size_t i) {
    const auto& record = records[static_cast<size_t>(batches.next())];
    std::memcpy(batches.slot(i).data(), record.data(), record.size());
    benchmark::ClobberMemory();
  });
}

void open_dataset(benchmark::State& state) {
  const int64_t num_shards = setting("FFKIT_BENCH_SHARDS", 16);
  const int64_t shard_records = setting("FFKIT_BENCH_SHARD_RECORDS", 100);
  const testing::TempDir dir;
  Manifest manifest{.split = "train", .schema = schema()};
  std::vector<std::byte> record;
  RecordBuilder builder(manifest.schema);
  for (int64_t shard = 0; shard < num_shards; ++shard) {
    const std::string file = "shard-" + std::to_string(shard) + ".ffr";
    ShardWriter writer(dir / file, manifest.schema);
    for (int64_t i = 0; i < shard_records; ++i) {
      builder.set_scalar<int64_t>(1, i);
      builder.encode(record);
      writer.append(record);
    }
    manifest.shards.push_back({writer.finish(), file});
  }
  write_manifest(dir / "manifest.json", manifest);
  const size_t before = mallinfo2().uordblks;
  const Dataset kept = Dataset::open(dir.path());
  state.counters["kB"] = static_cast<double>(mallinfo2().uordblks - before) / 1e3;
  for (auto _ : state) benchmark::DoNotOptimize(Dataset::open(dir.path()));
  state.counters["shards"] = static_cast<double>(num_shards);
  state.counters["records"] = static_cast<double>(num_shards * shard_records);
}

void register_benchmarks() {
  for (const Crc32cPath& path : crc32c_paths()) {
    benchmark::RegisterBenchmark((std::string("crc32c/") + path.name).c_str(),
                                 [path](benchmark::State& state) { crc_of(state, path); })
        ->RangeMultiplier(4)
        ->Range(64, 1 << 20);
  }
  benchmark::RegisterBenchmark("memcpy", memcpy_of)->RangeMultiplier(4)->Range(64, 1 << 20);
  benchmark::RegisterBenchmark("plain_write", plain_write)->UseRealTime();
  benchmark::RegisterBenchmark("shard_writer", shard_writer)
      ->Arg(1 << 10)
      ->Arg(16 << 10)
      ->Arg(kImageRecordBytes)
      ->UseRealTime();
  benchmark::RegisterBenchmark("memcpy_batch", memcpy_batch);
  benchmark::RegisterBenchmark("plain_pread", plain_pread);
  benchmark::RegisterBenchmark("shard_reader", shard_reader);
  benchmark::RegisterBenchmark("open_dataset", open_dataset)->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  register_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "format_bench: error: %s\n", e.what());
    return 1;
  }
}
