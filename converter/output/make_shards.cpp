#include "output/make_shards.h"

#include <fmt/format.h>

#include <string>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "input/cancel.h"
#include "output/destination_checks.h"
#include "output/gather.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

void note(const ConvertOptions& options, const std::string& sentence) {
  if (options.note) options.note(sentence);
}

// Of a source whose samples are read in their order alone.
bool must_gather(const Source& source, const SplitPlan& plan, std::span<const PackUnit> units,
                 const fs::path& folder, const ConvertOptions& options) {
  if (!is_scattered(source, plan.split, units)) return false;
  const std::string in_order = option_set("order", "source");
  if (Place(folder).is_in_store()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("split '{}' is shuffled, and its samples are read in their order alone, "
                    "through temporary files, for which a store has no place; convert to "
                    "a folder and copy the result, or keep the order with {}",
                    plan.manifest.split, in_order),
        {.path = folder.string(), .subject = ErrorSubject::destination});
  }
  const int64_t needed = 2 * bytes_of(plan, units);
  if (const int64_t num_free = free_space(folder); needed > num_free) {
    throw Error(
        ErrorCode::io,
        fmt::format("split '{}' is shuffled through temporary files, which take {} MB for "
                    "a while with its shards, and {} MB are free; make room, or keep the "
                    "order with {}",
                    plan.manifest.split, needed / 1'000'000, num_free / 1'000'000, in_order),
        {.path = folder.string(), .subject = ErrorSubject::destination});
  }
  note(options,
       fmt::format("{}: read once, front to back, and shuffled through files beside the shards",
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
         fmt::format("{}: scattered reads are slow on the disk of {}, but a store has no place for "
                     "the files "
                     "through which it would be read once; it is read where the pictures lie",
                     plan.manifest.split, source.archive(plan.split).string()));
    return false;
  }
  const int64_t needed = 2 * bytes_of(plan, units);
  if (const int64_t num_free = free_space(folder); needed > num_free) {
    note(options,
         fmt::format(
             "{}: scattered reads are slow on the disk of {}, but reading it once would take {} MB "
             "for a while and {} MB are free; it is read where the pictures lie",
             plan.manifest.split, source.archive(plan.split).string(), needed / 1'000'000,
             num_free / 1'000'000));
    return false;
  }
  note(
      options,
      fmt::format("{}: scattered reads are slow on the disk of {}; it is read once, front to back, "
                  "through files beside the shards",
                  plan.manifest.split, source.archive(plan.split).string()));
  return true;
}

}  // namespace

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
