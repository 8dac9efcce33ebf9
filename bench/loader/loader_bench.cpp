// loader_bench: whole epochs through the loader, beside the ceiling: the same records, already in
// memory, through ImagePipeline alone on as many threads. Both are measured in turns, so that a
// busy machine slows both; the processor time of a picture, which hardly depends on the load, tells
// what the loader costs beside decoding.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include <ffkit/base/machine.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/loader/loader.h>

#include "drop_from_cache.h"
#include "image/views/picture_views.h"
#include "loader/threads/threads.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace {

struct Arguments {
  std::string dataset;
  std::string split;
  int epochs = 5;
  bool cold = false;
  int64_t size = 224;
  bool eval = false;
  bool sequential = false;
  bool json = false;
  ffkit::LoaderOptions loader;
};

Arguments parse(int argc, char** argv) {
  Arguments args;
  ffkit::LoaderOptions& loader = args.loader;
  CLI::App app{"Measures the loader against the decoder alone."};
  app.add_option("dataset", args.dataset,
                 "data set folder; without it, synthetic pictures are packed into a temporary one");
  app.add_option("--split", args.split, "split of the data set");
  app.add_option("--num-threads", loader.num_threads, "decoding threads, 0: all cores")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--batch", loader.batch_size, "samples in a batch")->check(CLI::PositiveNumber);
  app.add_option("--epochs", args.epochs, "repetitions")->check(CLI::PositiveNumber);
  app.add_option("--prefetch-batches", loader.memory.prefetch_batches, "batches read ahead")
      ->check(CLI::PositiveNumber);
  app.add_option("--size", args.size, "output pixels, e.g. 32 for small pictures")
      ->check(CLI::PositiveNumber);
  app.add_option_function<std::string>(
      "--engine",
      [&](const std::string& name) { loader.io.engine = ffkit::from_name<ffkit::IoEngine>(name); },
      "I/O engine");
  app.add_option_function<std::string>(
      "--direct",
      [&](const std::string& name) { loader.io.direct = ffkit::from_name<ffkit::DirectIo>(name); },
      "O_DIRECT");
  app.add_option_function<std::string>(
         "--dtype",
         [&](const std::string& name) {
           loader.image.output.dtype = ffkit::from_name<ffkit::DType>(name);
         },
         "of the batches; u8 is not normalised")
      ->check(CLI::IsMember({"u8", "f16", "bf16", "f32"}));
  app.add_flag("--eval", args.eval, "resize and centre crop instead of random crops");
  app.add_flag("--sequential", args.sequential, "record order instead of shuffled");
  app.add_flag("--cold", args.cold, "drop the shards from the page cache before each epoch");
  app.add_flag("--json", args.json, "the loader alone, in one line of JSON, as bench/peers print");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e) == 0 ? 0 : 2);
  }
  loader.image.output.normalize = loader.image.output.dtype != ffkit::DType::u8;
  if (args.sequential) loader.sampler.order = ffkit::Order::sequential;
  loader.sampler.tail = ffkit::Tail::exact;
  if (args.eval) {
    loader.image.transform =
        ffkit::ResizeCenterCrop{.resize = args.size * 8 / 7, .size = args.size};
  } else {
    loader.image.transform = ffkit::RandomResizedCrop{.size = args.size, .flip_probability = 0.5};
  }
  return args;
}

struct Measurement {
  double images_per_second = 0;
  double cpu_us_per_image = 0;  // of the whole process, kernel included
};

class Stopwatch {
 public:
  Measurement stop(int64_t num_images) const {
    const auto n = static_cast<double>(num_images);
    return {n * 1e9 / static_cast<double>(ffkit::now_ns() - begin_ns_),
            static_cast<double>(cpu_ns() - begin_cpu_ns_) / 1e3 / n};
  }

 private:
  static int64_t cpu_ns() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }
  int64_t begin_ns_ = ffkit::now_ns();
  int64_t begin_cpu_ns_ = cpu_ns();
};

// The encoded images, in memory: all of them or as many as fit into 4 GB.
std::vector<std::vector<std::byte>> read_images(const ffkit::Dataset& dataset) {
  constexpr size_t kMaxBytes = size_t{4} << 30;
  const size_t field = dataset.schema().require("image");
  std::vector<std::vector<std::byte>> images;
  std::vector<std::byte> record;
  size_t num_bytes = 0;
  for (int64_t i = 0; i < dataset.num_records() && num_bytes < kMaxBytes; ++i) {
    dataset.read(i, record);
    const auto image = ffkit::RecordView(dataset.schema(), record).bytes(field);
    images.emplace_back(image.begin(), image.end());
    num_bytes += image.size();
  }
  return images;
}

// The bare loop, each thread with a pipeline and, as in the loader, memory of a batch to write to.
Measurement run_ceiling(const std::vector<std::vector<std::byte>>& images,
                        const ffkit::LoaderOptions& options, int64_t epoch) {
  const ffkit::ImageSize size = ffkit::image_size(options.image.transform);
  const size_t bytes_per_image = 3 * static_cast<size_t>(size.height * size.width) *
                                 ffkit::size_of(options.image.output.dtype);
  const auto batch = static_cast<size_t>(options.batch_size);
  std::atomic<size_t> next{0};
  std::vector<std::unique_ptr<std::byte[]>> slabs;
  std::vector<ffkit::ImagePipeline> pipelines;
  for (int i = 0; i < options.num_threads; ++i) {
    slabs.push_back(std::make_unique<std::byte[]>(batch * bytes_per_image));
    pipelines.emplace_back(options.image);
  }
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < pipelines.size(); ++t) {
    threads.emplace_back([&, t] {
      ffkit::PipelineTimes times;
      for (size_t i = next++; i < images.size(); i = next++) {
        pipelines[t].run(images[i], {0, epoch, static_cast<int64_t>(i)},
                         slabs[t].get() + i % batch * bytes_per_image, times);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return watch.stop(static_cast<int64_t>(images.size()));
}

void drop_shards(const ffkit::Dataset& dataset) {
  for (int64_t i = 0; i < dataset.num_shards(); ++i) drop_from_cache(dataset.shard(i).path());
}

Measurement run_epoch(ffkit::Loader& loader, int64_t epoch) {
  const Stopwatch watch;
  loader.set_epoch(epoch);
  int64_t num_samples = 0;
  while (const std::optional<ffkit::Batch> batch = loader.next()) num_samples += batch->size();
  return watch.stop(num_samples);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(const char* name, const std::vector<Measurement>& all, double bytes_per_image) {
  std::vector<double> rates;
  std::vector<double> cpu;
  for (const Measurement& m : all) {
    rates.push_back(m.images_per_second);
    cpu.push_back(m.cpu_us_per_image);
  }
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  fmt::print(
      "{:<8} {:8.0f} img/s, {:7.1f} MB/s, {:7.1f} us of CPU per image  (medians of {}; {:.0f} .. "
      "{:.0f} img/s)\n",
      name, median(rates), median(rates) * bytes_per_image / 1e6, median(cpu), all.size(), *low,
      *high);
}

// What was counted after `before`, in `seconds`: the loader's own clock ran during the ceiling's
// turns too.
ffkit::LoaderStatistics since(const ffkit::LoaderStatistics& before, ffkit::LoaderStatistics now,
                              double seconds) {
  now.num_batches -= before.num_batches;
  now.num_samples -= before.num_samples;
  now.num_replaced -= before.num_replaced;
  now.bytes_read -= before.bytes_read;
  now.num_reads -= before.num_reads;
  now.read_seconds -= before.read_seconds;
  now.checksum_seconds -= before.checksum_seconds;
  now.decode_seconds -= before.decode_seconds;
  now.transform_seconds -= before.transform_seconds;
  now.busy_seconds -= before.busy_seconds;
  now.wait_seconds -= before.wait_seconds;
  now.ready_batches =
      (now.ready_batches * static_cast<double>(before.num_batches + now.num_batches) -
       before.ready_batches * static_cast<double>(before.num_batches)) /
      static_cast<double>(now.num_batches);
  now.reads_in_flight = now.read_seconds / seconds;
  now.elapsed_seconds = seconds;
  return now;
}

// As the peers are measured: the first epoch is left out, the others are one piece of time.
void run_as_peer(const ffkit::Dataset& dataset, const Arguments& args) {
  ffkit::Loader loader(dataset, args.loader);
  run_epoch(loader, 0);
  const int64_t begin = ffkit::now_ns();
  int64_t num_images = 0;
  for (int epoch = 1; epoch <= args.epochs; ++epoch) {
    if (args.cold) drop_shards(dataset);
    run_epoch(loader, epoch);
    num_images += dataset.num_records();
  }
  const double seconds = static_cast<double>(ffkit::now_ns() - begin) * 1e-9;
  fmt::print(
      "{{\"peer\": \"ffkit\", \"version\": \"\", \"images_per_second\": {}, \"num_images\": {}, "
      "\"seconds\": {}}}\n",
      static_cast<double>(num_images) / seconds, num_images, seconds);
}

void run(Arguments args) {
  std::optional<ffkit::testing::TempDir> made;
  if (args.dataset.empty()) {
    made.emplace();
    args.dataset = *made / "synthetic";
    ffkit::testing::make_dataset(args.dataset, {.num_records = 200, .width = 300, .height = 260});
  }
  const ffkit::Dataset dataset = ffkit::Dataset::open(args.dataset, args.split);
  if (args.json) return run_as_peer(dataset, args);
  const auto images = read_images(dataset);
  size_t image_bytes = 0;
  for (const auto& image : images) image_bytes += image.size();
  const double bytes_per_image =
      static_cast<double>(image_bytes) / static_cast<double>(images.size());

  // Epochs take turns with the ceiling: nothing of the next one may be done meanwhile.
  args.loader.io.read_ahead_epochs = false;
  ffkit::Loader loader(dataset, args.loader);
  const ffkit::LoaderOptions& options = loader.options();
  utsname system{};
  uname(&system);
  fmt::print(
      "{} records of {:.1f} kB in {} shards; batch {}, {} threads on {} cores, {} {}, Linux {}\n",
      dataset.num_records(), bytes_per_image / 1e3, dataset.num_shards(), options.batch_size,
      options.num_threads, ffkit::usable_cores(), ffkit::to_string(options.image.output.dtype),
      args.size, system.release);

  run_epoch(loader, 0);  // warm-up: index, page cache, buffers
  const ffkit::LoaderStatistics before = loader.statistics();
  std::vector<Measurement> ceiling;
  std::vector<Measurement> epochs;
  std::vector<double> shares;
  double seconds = 0;
  for (int epoch = 1; epoch <= args.epochs; ++epoch) {
    ceiling.push_back(run_ceiling(images, options, epoch));
    if (args.cold) drop_shards(dataset);
    epochs.push_back(run_epoch(loader, epoch));
    shares.push_back(epochs.back().images_per_second / ceiling.back().images_per_second);
    seconds += static_cast<double>(dataset.num_records()) / epochs.back().images_per_second;
  }
  print("ceiling", ceiling, bytes_per_image);
  print("loader", epochs, bytes_per_image);
  fmt::print("loader runs at {:.1f} % of the ceiling (median of the repetitions), {}\n\n{}",
             100 * median(shares), args.cold ? "cold cache" : "warm cache",
             to_string(since(before, loader.statistics(), seconds)));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& e) {
    fmt::print(stderr, "loader_bench: error: {}\n", e.what());
    return 1;
  }
  return 0;
}
