#include "options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/progress_bar.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

// Signal handlers cannot be given anything else than a global.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// CLI11 would take "-4" and octal "010" without a word.
uint64_t parse_seed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw CLI::ValidationError("--seed", text + " is not a number from 0 to 2^64-1");
  }
  return seed;
}

// Whether a record is a picture with labels.
bool has_image_records(const Source& source) {
  return !source.classes().empty() && source.schema().index_of("image") >= 0;
}

void print_summary(const ConvertSummary& summary, const std::string& destination, bool has_images,
                   bool can_be_trained) {
  const bool has_classes = summary.num_classes > 0;
  const char* noun = has_images ? "images" : "records";
  for (const SplitSummary& split : summary.splits) {
    fmt::print(stderr, "{}: {} {} in {} {}, {:.1f} MB, fingerprint {}\n", split.split,
               split.num_records, noun, split.num_shards,
               split.num_shards == 1 ? "shard" : "shards",
               static_cast<double>(split.file_bytes) / 1e6, split.fingerprint);
  }
  fmt::print(stderr, "{} {}{} in {:.1f} s, {:.0f} {}/s, {:.0f} MB/s\n", summary.num_records(), noun,
             has_classes ? fmt::format(" of {} classes", summary.num_classes) : "", summary.seconds,
             static_cast<double>(summary.num_records()) / summary.seconds, noun,
             static_cast<double>(summary.file_bytes()) / 1e6 / summary.seconds);
  if (summary.num_skipped() > 0) {
    fmt::print(stderr, "{} {} could not be read and were left out: see {}/report.jsonl\n",
               summary.num_skipped(), has_images ? "pictures" : "records", destination);
  }
  if (const int64_t num_others = summary.num_reported - summary.num_skipped(); num_others > 0) {
    fmt::print(stderr,
               "{} {} were repaired, or kept with what is wrong with them: see {}/report.jsonl\n",
               num_others, has_images ? "pictures" : "records", destination);
  }
  if (can_be_trained) fmt::print(stderr, "next: fftrain --data {}\n", destination);
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const auto minutes = static_cast<int64_t>(seconds / 60 + 0.5);
  return minutes < 90 ? fmt::format("{} min", minutes)
                      : fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

void print_estimate(const ConvertEstimate& estimate, bool has_images) {
  int64_t num_bytes = 0;
  for (const SplitEstimate& split : estimate.splits) {
    fmt::print("{}: {} {} in {} {}, about {:.1f} MB\n", split.split, split.num_samples,
               has_images ? "images" : "records", split.num_shards,
               split.num_shards == 1 ? "shard" : "shards",
               static_cast<double>(split.file_bytes) / 1e6);
    num_bytes += split.file_bytes;
  }
  fmt::print("about {:.1f} MB; reading and encoding take about {}\n",
             static_cast<double>(num_bytes) / 1e6, duration(estimate.seconds));
}

}  // namespace

void add_convert_options(CLI::App& command, ConvertArguments& arguments) {
  ConvertOptions& options = arguments.options;
  command
      .add_option("--threads", options.num_threads,
                  "Threads; 0: one a processor. Does not change the output")
      ->capture_default_str();
  command
      .add_option("--shard-size", options.shard_bytes,
                  "Bytes in a shard; 64M, 1G, ... (powers of 1024)")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("SIZE=256M");
  command
      .add_option_function<std::string>(
          "--order",
          [&options](const std::string& name) { options.order = parse_record_order(name); },
          "shuffled: training splits in an order drawn by --seed; source: all as they come")
      ->check(CLI::IsMember({"shuffled", "source"}))
      ->option_text("shuffled|source");
  command
      .add_option_function<std::string>(
          "--seed", [&options](const std::string& text) { options.seed = parse_seed(text); },
          "Of everything that is drawn at random; 0 .. 2^64-1")
      ->option_text("NUMBER=0");
  command
      .add_option_function<std::string>(
          "--on-error",
          [&options](const std::string& name) { options.on_error = parse_on_error(name); },
          "A picture that cannot be read: fail, skip it, or keep its bytes as they are; "
          "DST/report.jsonl names it")
      ->check(CLI::IsMember({"fail", "skip", "keep"}))
      ->option_text("fail|skip|keep");
  command
      .add_option("--zstd", options.zstd_level,
                  "Compress each record: 1 (fast) .. 22 (small), -7 .. -1 (faster still); 0: no. "
                  "Pictures do not shrink")
      ->option_text("LEVEL=0");
  command
      .add_option(
          "--zstd-dictionary", options.zstd_dictionary_bytes,
          "With --zstd, train a dictionary of this size on the first records of each split; "
          "helps small records. 256 .. 16M, usually 112K")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("SIZE");
  command
      .add_option_function<std::string>(
          "--read", [&options](const std::string& name) { options.read = parse_read_mode(name); },
          "Archives whose pictures are written in another order: direct: each where it lies; "
          "gather: "
          "front to back, once, through files in DST, for slow disks; auto: measured")
      ->check(CLI::IsMember({"auto", "direct", "gather"}))
      ->option_text("auto|direct|gather");
  command
      .add_option_function<std::string>(
          "--part",
          [&options](const std::string& text) {
            try {
              options.part = parse_part(text);
            } catch (const Error& error) {
              throw CLI::ValidationError("--part", error.what());
            }
          },
          "Make only part i of n, one a machine; 'ffconvert merge DST PART...' joins them")
      ->option_text("i/n");
  command.add_flag("--resume", options.resume,
                   "Go on with what the same command has left in DST when it was stopped");
  command.add_flag("--dry-run", arguments.dry_run,
                   "Say what would be written, how large and how long; write nothing");
  command.add_flag("--quiet", arguments.quiet, "Print errors only");
}

void validate_options(const CLI::App& command, const ConvertArguments& arguments) {
  try {
    validate(arguments.options);
  } catch (const Error& error) {
    throw CLI::ValidationError(command.get_name(), error.what());
  }
}

void run_conversion(ConvertArguments& arguments,
                    const std::function<std::unique_ptr<Source>()>& open) {
  ProgressBar bar(STDERR_FILENO);
  const auto note = [&](const std::string& sentence) {
    if (arguments.quiet) return;
    bar.wipe();
    fmt::print(stderr, "ffconvert: note: {}\n", sentence);
  };
  ConvertOptions& options = arguments.options;
  options.cancel = stop_flag();
  options.note = note;
  if (!arguments.quiet) {
    options.progress = [&bar](const ConvertProgress& progress) { bar.update(progress); };
  }
  check_destination(arguments.destination);  // before minutes go into listing the source
  const auto source = open();
  for (const std::string& sentence : source->notes()) note(sentence);
  if (arguments.dry_run) {
    return print_estimate(estimate_conversion(*source, options), has_image_records(*source));
  }
  const ConvertSummary summary = convert(*source, arguments.destination, options);
  bar.wipe();
  if (arguments.quiet) return;
  const bool can_be_trained = !source->classes().empty() && arguments.options.part.count == 1 &&
                              source->schema().difference(image_classification_schema()).empty();
  print_summary(summary, arguments.destination, has_image_records(*source), can_be_trained);
}

const std::atomic<bool>* stop_flag() {
  return &stop_requested;
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested = true; };
  // A second signal ends the process at once; the next conversion to the folder then clears up.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  // Too large a file is to be an error of write(2), with a message, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace ffkit
