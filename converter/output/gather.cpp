#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <unordered_map>

#include <ffkit/base/crc32c.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "input/cancel.h"
#include "output/make_shards.h"
#include "output/own_names.h"
#include "pack/report.h"

namespace ffkit {
namespace {

// Before each sample of a gather file; only this program reads it, on the machine that wrote it.
struct Head {
  uint64_t record_bytes = 0;  // 0 for a sample that was left out
  uint64_t stored_bytes = 0;  // 0 when the record is stored as it is
  uint64_t report_bytes = 0;
  ContentSum content;
  uint32_t local_index = 0;  // in the shard
  uint32_t stored_crc32c = 0;
  uint32_t codec = 0;
  uint32_t crc32c = 0;  // of what follows
};

fs::path gather_path(const fs::path& folder, int64_t shard) {
  return folder / gather_name(shard);
}

fs::path state_path(const fs::path& folder) {
  return folder / kGatheredFile;
}

// Where a sample goes.
struct PlaceInShard {
  int64_t shard = 0;
  uint32_t local_index = 0;
};

// Appends samples to the gather files of their shards.
class Gatherer : public PackSink {
 public:
  Gatherer(const Source& source, size_t split, fs::path folder,
           const std::unordered_map<int64_t, PlaceInShard>& places)
      : source_(source), split_(split), folder_(std::move(folder)), places_(places) {}

  void append(int64_t sample, EncodedSample& encoded) override {
    const PlaceInShard place = places_.at(sample);
    const std::string report = report_lines(source_, split_, sample, encoded);
    const std::span<const std::byte> text = std::as_bytes(std::span(report));
    Head head{.report_bytes = report.size(), .local_index = place.local_index};
    pieces_.resize(sizeof(Head));
    if (!encoded.error) {
      head.record_bytes = encoded.record.size();
      head.stored_crc32c = encoded.stored.crc32c;
      head.codec = static_cast<uint32_t>(encoded.stored.codec);
      head.content = encoded.content;
      pieces_.insert(pieces_.end(), encoded.record.begin(), encoded.record.end());
      if (encoded.stored.codec != Codec::none) {
        head.stored_bytes = encoded.stored.bytes.size();
        pieces_.insert(pieces_.end(), encoded.stored.bytes.begin(), encoded.stored.bytes.end());
      }
    }
    pieces_.insert(pieces_.end(), text.begin(), text.end());
    head.crc32c = crc32c(std::span(pieces_).subspan(sizeof(Head)));
    std::memcpy(pieces_.data(), &head, sizeof(Head));
    append_to(gather_path(folder_, place.shard), pieces_);
  }

 private:
  // Opened anew for each sample: there are more shards than a process may have open files.
  static void append_to(const fs::path& path, std::span<const std::byte> bytes) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int error = fd < 0 ? errno : 0;
    while (error == 0 && !bytes.empty()) {
      const ssize_t n = ::write(fd, bytes.data(), bytes.size());
      if (n >= 0) {
        bytes = bytes.subspan(static_cast<size_t>(n));
      } else if (errno != EINTR) {
        error = errno;
      }
    }
    if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
    if (error != 0) throw io_error_at(path, "cannot be written", error);
  }

  const Source& source_;
  const size_t split_;
  const fs::path folder_;
  const std::unordered_map<int64_t, PlaceInShard>& places_;
  std::vector<std::byte> pieces_;
};

struct GatheredSample {
  Head head;
  std::span<const std::byte> record;
  std::span<const std::byte> stored;
  std::string report;
};

[[noreturn]] void changed(const fs::path& path) {
  throw error_at(path, ErrorCode::corrupt, "was changed or damaged after it was written")
      .with_subject(ErrorSubject::destination)
      .with_remedy(fmt::format("run without {} to start over", option_on("resume")));
}

// The samples of a gather file's `bytes`, in record order.
std::vector<GatheredSample> parse(std::span<const std::byte> bytes, const fs::path& path) {
  std::vector<GatheredSample> samples;
  while (!bytes.empty()) {
    if (bytes.size() < sizeof(Head)) changed(path);
    Head head;
    std::memcpy(&head, bytes.data(), sizeof(Head));
    bytes = bytes.subspan(sizeof(Head));
    const auto take = [&](uint64_t num_bytes) {
      if (num_bytes > bytes.size()) changed(path);
      const auto piece = bytes.first(num_bytes);
      bytes = bytes.subspan(num_bytes);
      return piece;
    };
    const auto all = bytes;
    GatheredSample sample{.head = head};
    sample.record = take(head.record_bytes);
    sample.stored = head.stored_bytes > 0 ? take(head.stored_bytes) : sample.record;
    const auto text = take(head.report_bytes);
    if (crc32c(all.first(all.size() - bytes.size())) != head.crc32c) changed(path);
    sample.report.assign(reinterpret_cast<const char*>(text.data()), text.size());
    samples.push_back(std::move(sample));
  }
  std::ranges::sort(samples, {}, [](const GatheredSample& s) { return s.head.local_index; });
  return samples;
}

// Returns false when all samples were left out: then there is no shard.
bool write_shard(const PackUnit& unit, const fs::path& path, SplitWriter& writer) {
  const std::vector<std::byte> bytes = read_whole_file(path, std::numeric_limits<int64_t>::max());
  const std::vector<GatheredSample> samples = parse(bytes, path);
  if (samples.size() != unit.samples.size()) changed(path);
  writer.begin(unit.number);
  for (const GatheredSample& sample : samples) {
    writer.append(sample.record,
                  {.bytes = sample.stored,
                   .crc32c = sample.head.stored_crc32c,
                   .codec = static_cast<Codec>(sample.head.codec)},
                  sample.report, sample.head.content);
  }
  const bool has_records = writer.has_records();
  writer.end();
  return has_records;
}

// Step 1.
PackProgress gather(const Source& source, const SplitPlan& plan, std::span<const PackUnit> units,
                    const fs::path& folder, const ConvertOptions& options,
                    const std::function<void(const PackProgress&)>& on_progress) {
  std::unordered_map<int64_t, PlaceInShard> places;
  std::vector<int64_t> samples;
  for (const PackUnit& unit : units) {
    fs::remove(gather_path(folder, unit.number));  // of a run that ended in the middle
    for (size_t local_index = 0; local_index < unit.samples.size(); ++local_index) {
      places[unit.samples[local_index]] = {unit.number, static_cast<uint32_t>(local_index)};
      samples.push_back(unit.samples[local_index]);
    }
  }
  std::ranges::sort(samples, {}, [&](int64_t s) { return source.position(plan.split, s); });
  Gatherer gatherer(source, plan.split, folder, places);
  const PackUnit all{.number = 0, .samples = samples};
  const PackProgress progress = pack_samples(source, plan.split, std::span(&all, 1), options,
                                             plan.compression, gatherer, on_progress);
  // One call for hundreds of files, before the state that vouches for them.
  const int fd = open_descriptor(folder, O_RDONLY);
  const int error = fd < 0 || ::syncfs(fd) != 0 ? errno : 0;
  if (fd >= 0) ::close(fd);
  if (error != 0) throw io_error_at(folder, "cannot be synced", error);
  write_durably(state_path(folder), "gathered\n");
  return progress;
}

}  // namespace

bool is_gathered(const fs::path& folder) {
  return fs::exists(state_path(folder));
}

void remove_gathered(const fs::path& folder, std::span<const PackUnit> units) {
  fs::remove(state_path(folder));  // first: it vouches for the others
  for (const PackUnit& unit : units) fs::remove(gather_path(folder, unit.number));
}

PackProgress gather_samples(const Source& source, const SplitPlan& plan,
                            std::span<const PackUnit> units, const fs::path& folder,
                            const ConvertOptions& options, SplitWriter& writer,
                            const std::function<void(const PackProgress&)>& on_progress) {
  PackProgress progress;
  if (!is_gathered(folder)) {
    progress = gather(source, plan, units, folder, options, on_progress);
  }
  int64_t before = -1;
  for (const PackUnit& unit : units) {
    throw_if_cancelled(options.cancel);
    const bool has_records = write_shard(unit, gather_path(folder, unit.number), writer);
    // The shard before this one is durable by now; this one's records may still be needed.
    if (before >= 0) fs::remove(gather_path(folder, before));
    // One without records leaves no shard: a conversion that goes on looks at it again.
    before = has_records ? unit.number : -1;
  }
  writer.wait();
  return progress;
}

}  // namespace ffkit
