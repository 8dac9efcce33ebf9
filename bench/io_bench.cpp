// io_bench: random reads of records through the loader, beside what the disk and the page cache
// give at all.
//
//   cold   O_DIRECT, at one queue depth:   the loader, checked or not, with sqpoll, with pread; fio
//   warm   page cache:                     the loader, checked or not, read by either thread;
//                                          two threads of pread(2)
//
// The loader has two threads and decodes nothing. All kinds take turns, so that a busy machine
// slows each of them. fio is left out where it is not installed.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_writer.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/permutation.h>

#include "loader/io/shard_files.h"
#include "loader/threads/threads.h"

namespace {

using namespace ffkit;
namespace fs = std::filesystem;

struct Arguments {
  fs::path folder = "io_bench_data";
  std::vector<int64_t> record_bytes = {110'000, 4'000};
  std::vector<int64_t> megabytes = {4'096, 1'024};
  int depth = 32;
  int repetitions = 5;
  double seconds = 2;
  bool json = false;
};

struct Measurement {
  double bytes_per_second = 0;
  double reads_per_second = 0;
  double cpu_us_per_read = 0;  // of the process; 0: not known
};

int64_t cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class Stopwatch {
 public:
  explicit Stopwatch(double seconds) : end_ns_(begin_ns_ + static_cast<int64_t>(seconds * 1e9)) {}
  bool is_over() const { return now_ns() >= end_ns_; }
  Measurement stop(int64_t num_reads, int64_t num_bytes) const {
    const double seconds = static_cast<double>(now_ns() - begin_ns_) * 1e-9;
    const auto reads = static_cast<double>(num_reads);
    return {static_cast<double>(num_bytes) / seconds, reads / seconds,
            static_cast<double>(cpu_ns() - begin_cpu_ns_) * 1e-3 / reads};
  }

 private:
  int64_t begin_ns_ = now_ns();
  int64_t begin_cpu_ns_ = cpu_ns();
  int64_t end_ns_;
};

// Opens the data set of such records in `folder`, made first unless it is there.
Dataset make_records(const fs::path& folder, int64_t record_bytes, int64_t num_bytes) {
  constexpr int64_t kShardBytes = 256 << 20;
  Manifest manifest{.split = "train", .schema = {{{.name = "data", .type = FieldType::bytes}}}};
  manifest.created_by = fmt::format("io_bench {} {}", record_bytes, num_bytes);
  if (fs::exists(folder / "manifest.json")) {
    if (read_manifest(folder / "manifest.json").created_by == manifest.created_by) {
      return Dataset::open(folder);
    }
    fs::remove_all(folder);
  }
  fs::create_directories(folder);
  // Pieces of one random buffer: different records, made fast.
  std::mt19937_64 random(1);
  std::vector<uint64_t> noise(static_cast<size_t>(record_bytes) / 8 + 4096);
  for (uint64_t& word : noise) word = random();
  RecordBuilder builder(manifest.schema);
  std::vector<std::byte> record;
  const int64_t num_records = std::max<int64_t>(num_bytes / record_bytes, 1);
  for (int64_t done = 0; done < num_records;) {
    const std::string file = fmt::format("shard-{:05}.ffr", manifest.shards.size());
    ShardWriterOptions options;
    options.uuid[0] = static_cast<uint8_t>(manifest.shards.size());
    ShardWriter writer(folder / file, manifest.schema, options);
    while (done < num_records && writer.bytes_written() < kShardBytes) {
      const auto at = static_cast<size_t>(random() % 4096);
      builder.set_bytes(
          0, std::as_bytes(std::span(noise)).subspan(at * 8, static_cast<size_t>(record_bytes)));
      builder.encode(record);
      writer.append(record);
      ++done;
    }
    manifest.shards.push_back({writer.finish(), file});
  }
  write_manifest(folder / "manifest.json", manifest);
  return Dataset::open(folder);
}

std::vector<fs::path> shard_paths(const Dataset& dataset) {
  std::vector<fs::path> paths;
  for (int64_t i = 0; i < dataset.num_shards(); ++i) paths.push_back(dataset.shard(i).path());
  return paths;
}

// The least that a decoder can do: what is measured is reading, checking and handing over.
class SizeDecoder final : public FieldDecoder {
 public:
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {}; }
  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const auto size = static_cast<int64_t>(record.bytes(0).size());
    std::memcpy(out, &size, sizeof(size));
  }
};

// The loader as everyone uses it, in shuffled order.
class RecordReader {
 public:
  RecordReader(const Dataset& dataset, const IoOptions& io, bool verify_checksums)
      : record_bytes_(dataset.locate(0).record.stored_bytes),
        loader_(dataset, options(io, verify_checksums)) {}

  Measurement run(double seconds) {
    const Stopwatch watch(seconds);
    int64_t num_records = 0;
    loader_.set_epoch(epoch_++);
    while (!watch.is_over()) {
      if (const auto batch = loader_.next()) {
        num_records += batch->size();
      } else {
        loader_.set_epoch(epoch_++);
      }
    }
    return watch.stop(num_records, num_records * record_bytes_);
  }

 private:
  static LoaderOptions options(const IoOptions& io, bool verify_checksums) {
    LoaderOptions out;
    out.num_threads = 2;
    out.batch_size = 256;
    out.sampler.tail = Tail::exact;  // of few records too
    out.memory.prefetch_batches = 4;
    out.image_field = "";
    out.label_field = "";
    out.fields = {{"size", std::make_shared<SizeDecoder>()}};
    out.io.verify_checksums = verify_checksums;
    out.io = io;
    return out;
  }

  int64_t record_bytes_;
  Loader loader_;
  int64_t epoch_ = 0;
};

// The bare loop: threads that pread(2) records into a buffer each, and nothing else.
Measurement run_pread(const Dataset& dataset, int num_threads, double seconds, uint64_t seed) {
  const ShardFiles files(dataset, 0, DirectIo::off);
  const Permutation order(dataset.num_records(), seed);
  std::atomic<int64_t> num_reads{0};
  std::atomic<int64_t> num_bytes{0};
  const Stopwatch watch(seconds);
  std::vector<std::thread> threads;
  for (int t = 0; t < num_threads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::byte> buffer;
      int64_t reads = 0;
      int64_t bytes = 0;
      for (int64_t i = t; !watch.is_over(); i += num_threads, ++reads) {
        const Dataset::Location where = dataset.locate(order(i % order.size()));
        buffer.resize(static_cast<size_t>(where.record.stored_bytes));
        bytes += pread(files.lease(static_cast<size_t>(where.shard_index)).descriptor,
                       buffer.data(), buffer.size(), where.record.offset);
      }
      num_reads += reads;
      num_bytes += bytes;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return watch.stop(num_reads, num_bytes);
}

void fill_page_cache(const Dataset& dataset) {
  std::vector<char> part(1 << 20);
  for (const fs::path& path : shard_paths(dataset)) {
    std::ifstream file(path, std::ios::binary);
    while (file.read(part.data(), std::ssize(part))) {
    }
  }
}

// fio over the shards, its figures from its JSON; nothing where it is not installed.
std::optional<Measurement> run_fio(const Dataset& dataset, int64_t block_bytes, int depth,
                                   double seconds, uint64_t seed) {
  std::string files;
  for (const fs::path& path : shard_paths(dataset)) {
    files += (files.empty() ? "" : ":") + path.string();
  }
  const std::string command = fmt::format(
      "fio --name=peer --ioengine=io_uring --registerfiles --fixedbufs --direct=1 --rw=randread "
      "--bs={} --blockalign=4096 --iodepth={} --runtime={} --time_based --norandommap "
      "--randseed={} "
      "--file_service_type=random --readonly --output-format=json --filename='{}' 2>/dev/null",
      block_bytes, depth, std::max(1.0, seconds), seed + 1, files);
  if (std::system("command -v fio >/dev/null 2>&1") != 0) return std::nullopt;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  char part[4096];
  while (const size_t count = fread(part, 1, sizeof part, pipe)) output.append(part, count);
  if (pclose(pipe) != 0) return std::nullopt;
  const auto json = nlohmann::json::parse(output.substr(output.find('{')));
  const auto& job = json.at("jobs").at(0);
  const auto& read = job.at("read");
  const double iops = read.at("iops").get<double>();
  const double cpu =
      (job.at("usr_cpu").get<double>() + job.at("sys_cpu").get<double>()) / 100 * 1e6 / iops;
  return Measurement{read.at("bw_bytes").get<double>(), iops, cpu};
}

// One kind of reading and its repetitions; ratios are taken repetition by repetition against
// `base`, the row of the ceiling.
struct Row {
  std::string name;
  std::function<std::optional<Measurement>(uint64_t seed)> run;
  bool is_ceiling = false;
  std::vector<Measurement> all = {};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[values.size() / 2]
                                : (values[values.size() / 2 - 1] + values[values.size() / 2]) / 2;
}

void measure(const Arguments& args, const std::string& title, std::vector<Row> rows) {
  for (int repetition = 0; repetition < args.repetitions; ++repetition) {
    for (Row& row : rows) {
      if (const auto m = row.run(static_cast<uint64_t>(repetition))) row.all.push_back(*m);
    }
  }
  const auto ceiling =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.is_ceiling; });
  if (!args.json) fmt::print("\n{}\n", title);
  for (const Row& row : rows) {
    if (row.all.empty()) {
      if (!args.json) fmt::print("  {:<44} not to be had here\n", row.name);
      continue;
    }
    std::vector<double> rates;
    std::vector<double> reads;
    std::vector<double> cpu;
    std::vector<double> ratios;
    for (size_t i = 0; i < row.all.size(); ++i) {
      rates.push_back(row.all[i].bytes_per_second / 1e6);
      reads.push_back(row.all[i].reads_per_second);
      cpu.push_back(row.all[i].cpu_us_per_read);
      if (ceiling != rows.end() && i < ceiling->all.size()) {
        // Of reads: all of them fetch the same pages, whatever of those the record fills.
        ratios.push_back(row.all[i].reads_per_second / ceiling->all[i].reads_per_second);
      }
    }
    const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
    if (args.json) {
      nlohmann::json line = {{"work", title},
                             {"name", row.name},
                             {"unit", "MB/s"},
                             {"median", median(rates)},
                             {"low", *low},
                             {"high", *high},
                             {"reads", median(reads)},
                             {"repetitions", rates.size()},
                             {"is_ceiling", row.is_ceiling}};
      if (!ratios.empty()) line["ratio"] = median(ratios);
      fmt::print("{}\n", line.dump());
    } else {
      fmt::print("  {:<44} {:7.0f} MB/s ({:.0f} .. {:.0f}) {:8.0f} reads/s {:6.1f} us of CPU {}\n",
                 row.name, median(rates), *low, *high, median(reads), median(cpu),
                 ratios.empty() ? "" : fmt::format("{:.2f}x", median(ratios)));
    }
  }
  std::fflush(stdout);
}

void run(const Arguments& args) {
  utsname system{};
  uname(&system);
  if (!args.json) {
    fmt::print("{} cores, Linux {}, depth {}, {} repetitions of {} s; ratios to the last row\n",
               usable_cores(), system.release, args.depth, args.repetitions, args.seconds);
  }
  for (size_t i = 0; i < args.record_bytes.size(); ++i) {
    const int64_t bytes = args.record_bytes[i];
    const Dataset dataset =
        make_records(args.folder / fmt::format("records-{}", bytes), bytes,
                     args.megabytes[std::min(i, args.megabytes.size() - 1)] << 20);
    const auto loader = [&](const std::string& name, const IoOptions& io, bool verify) {
      auto reader = std::make_shared<std::unique_ptr<RecordReader>>();
      return Row{name,
                 [&dataset, reader, io, verify, &args](uint64_t) -> std::optional<Measurement> {
                   try {
                     if (*reader == nullptr) {
                       *reader = std::make_unique<RecordReader>(dataset, io, verify);
                       (*reader)->run(args.seconds / 4);  // buffers, registration
                     }
                     return (*reader)->run(args.seconds);
                   } catch (const Error& error) {
                     if (error.code() == ErrorCode::unsupported) return std::nullopt;
                     throw;
                   }
                 }};
    };
    const IoOptions cold{.direct = DirectIo::on, .queue_depth = args.depth};
    IoOptions sqpoll = cold;
    sqpoll.sqpoll = true;
    IoOptions threads = cold;
    threads.engine = IoEngine::pread;
    const int64_t block = (dataset.locate(0).record.stored_bytes + 4095) / 4096 * 4096;
    measure(
        args,
        fmt::format("random records of {} bytes, cold (O_DIRECT), depth {}", bytes, args.depth),
        {loader("loader, unchecked", cold, false), loader("loader, checked", cold, true),
         loader("loader, unchecked, sqpoll", sqpoll, false),
         loader("loader, unchecked, pread engine", threads, false),
         Row{"fio, io_uring, fixed buffers",
             [&](uint64_t seed) { return run_fio(dataset, block, args.depth, args.seconds, seed); },
             true}});
    fill_page_cache(dataset);
    const IoOptions warm{.direct = DirectIo::off, .queue_depth = args.depth};
    IoOptions by_io_thread = warm;
    by_io_thread.decoders_read_cache = false;
    measure(
        args,
        fmt::format("random records of {} bytes, warm (page cache), depth {}", bytes, args.depth),
        {loader("loader, checked", warm, true), loader("loader, unchecked", warm, false),
         loader("loader, checked, all read by the I/O thread", by_io_thread, true),
         Row{"bare loop of pread(2), two threads, unchecked",
             [&](uint64_t seed) { return run_pread(dataset, 2, args.seconds, seed); }, true}});
  }
}

Arguments parse(int argc, char** argv) {
  Arguments args;
  bool smoke = false;
  CLI::App app{"Measures random reads of records against fio and a bare loop of pread(2)."};
  app.add_option("--folder", args.folder, "where the records are made, on the disk to be measured");
  app.add_option("--record-bytes", args.record_bytes, "sizes of records")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--megabytes", args.megabytes, "of records, for each size")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--depth", args.depth, "reads in flight")->check(CLI::Range(1, 4096));
  app.add_option("--repetitions", args.repetitions, "")->check(CLI::PositiveNumber);
  app.add_option("--seconds", args.seconds, "of a repetition")->check(CLI::PositiveNumber);
  app.add_flag("--json", args.json, "one JSON object a row");
  app.add_flag("--smoke", smoke, "little data and little time: whether it runs at all");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e) == 0 ? 0 : 2);
  }
  if (smoke) {
    args.megabytes = {8};
    args.repetitions = 1;
    args.seconds = 0.05;
  }
  return args;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& e) {
    fmt::print(stderr, "io_bench: error: {}\n", e.what());
    return 1;
  }
  return 0;
}
