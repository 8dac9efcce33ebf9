#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/convert.h>
#include <ffkit/storage/traffic.h>

#include "base/make_error.h"
#include "conversion.h"
#include "input/cancel.h"
#include "input/grouped_source.h"
#include "merge/store_merge.h"
#include "output/destination.h"
#include "output/destination_checks.h"
#include "output/store_parts.h"
#include "pack/packer.h"
#include "pack/report.h"
#include "places/place.h"
#include "places/read_ahead.h"
#include "plan/chosen_source.h"
#include "plan/plan_fingerprint.h"
#include "plan/split_plan.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What somebody would want to know who never opens the report.
void note_reported(const ConvertSummary& summary, const ConvertOptions& options,
                   const fs::path& destination) {
  if (!options.note) return;
  const auto note = [&](const std::string& words) {
    options.note(fmt::format("{0}: {1}: see {0}/report.jsonl", Place(destination).shown(), words));
  };
  for (const auto& [action, reported] : summary.reported) {
    const int64_t count = reported.count;
    const bool is_one = count == 1;
    if (action == kDocumentLeftOut) {
      note(fmt::format("{} bad {} left out", count, is_one ? "document was" : "documents were"));
    } else if (action == kItemLeftOut) {
      note(fmt::format("{} bad {} left out of {}; everything else was kept", count,
                       is_one ? "item was" : "items were",
                       reported.num_lines == 1 ? "its record" : "their records"));
    } else if (action == kKeptUnturned) {
      note(
          fmt::format("{} {} an EXIF rotation, and {} kept as stored; if the annotations belong "
                      "to upright pictures, convert with {}",
                      count, is_one ? "picture has" : "pictures have", is_one ? "was" : "were",
                      option_set("exif", "apply")));
    } else if (action == kMarkLeftOut) {
      note(fmt::format("{} byte order {} left out", count, is_one ? "mark was" : "marks were"));
    } else if (action == kBytesReplaced) {
      int64_t num_bytes = 0;
      for (const SplitSummary& split : summary.splits) {
        for (const auto& [column, total] : split.totals) {
          if (column == kReplacedAmong) num_bytes += total;
        }
      }
      const double percent =
          100.0 * static_cast<double>(count) / static_cast<double>(std::max<int64_t>(num_bytes, 1));
      constexpr double kSuspicious = 0.1;
      note(fmt::format("{}{} of {} bytes ({:.2g} %) are not UTF-8 and became U+FFFD{}",
                       percent > kSuspicious ? "warning: " : "", count, num_bytes, percent,
                       percent > kSuspicious
                           ? "; if the texts are Latin-1 or another encoding, convert them first, "
                             "for example with iconv -f LATIN1 -t UTF-8"
                           : ""));
    }
  }
}

void look_at_destination(const fs::path& destination, const ConvertOptions& options) {
  const fs::path place = place_of_part(Place(destination).path(), options);
  try {
    if (options.resume && holds_finished_data_set(place)) return;
    Destination::require_usable(place, Destination::Kind::conversion, options.part);
  } catch (const fs::filesystem_error& error) {
    throw io_error_at(destination, "the path cannot be examined", error.code().value());
  } catch (const Error& error) {
    if (place == destination) throw;
    throw told_by_path(error);
  }
}

void check_reads(const fs::path& destination, const ConvertOptions& options) {
  if (!is_in_store(destination) || options.read != ReadMode::gather) return;
  throw argument_error(
      "read",
      fmt::format(
          "{} writes temporary files beside the shards, but the destination is in a store, which "
          "cannot hold such files; leave out this option, or give a folder as the destination",
          option_set("read", to_string(options.read))));
}

// Whether a part is made whose place is that of all parts.
bool is_part_of_place(const fs::path& place, const ConvertOptions& options) {
  return options.part.count > 1 && Place(place).is_in_store();
}

// At the end of a part. Returns whether the parts are merged, or another process does that.
bool merge_if_complete(const fs::path& place, const ConvertOptions& options,
                       ConvertSummary& summary) {
  if (!options.merge_when_complete || !is_part_of_place(place, options)) return false;
  const int64_t count = options.part.count;
  const MergedParts merged =
      merge_parts_when_complete(place, count, {.cancel = options.cancel, .note = options.note});
  summary.num_parts = count;
  summary.num_finished_parts = merged.num_finished;
  for (const Manifest& manifest : merged.manifests) {
    summary.merged.push_back(summary_of(manifest));
  }
  return merged.num_finished == count;
}

// The data set is there already. What a merge that was killed has left is removed.
ConvertSummary finished(const Source& source, const fs::path& place,
                        const ConvertOptions& options) {
  ConvertOptions whole = options;
  if (is_part_of_place(place, options)) whole.part = {};
  ConvertSummary summary = finished_conversion(place, source, plan_splits(source, whole), whole);
  add_facts(summary, source, place, whole.part);
  note_reported(summary, options, place);
  if (is_part_of_place(place, options) && has_rest_of_merge(place)) {
    merge_if_complete(place, options, summary);
  }
  return summary;
}

ConvertSummary convert_to(const Source& source, const fs::path& place,
                          const ConvertOptions& options) {
  // Another part may merge all while this one begins, or while it looks at what it made before.
  const auto is_merged = [&] {
    return options.resume && is_part_of_place(place, options) && holds_finished_data_set(place);
  };
  try {
    if (options.resume && holds_finished_data_set(place)) return finished(source, place, options);
  } catch (...) {
    throw current_error(place);
  }
  ConvertSummary summary;
  std::unique_ptr<Destination> claimed;
  try {
    claimed =
        Destination::claim(place, {.unfinished = options.resume ? Destination::Unfinished::go_on
                                                                : Destination::Unfinished::remove,
                                   .command = options.command,
                                   .note = options.note,
                                   .poll = [&] { throw_if_cancelled(options.cancel); },
                                   .part = options.part});
    summary = make_data_set(source, *claimed, place, options);
  } catch (const Error&) {
    if ((claimed && !claimed->is_finished()) || !is_merged()) throw;
    claimed.reset();
    return finished(source, place, options);
  }
  const bool is_whole = merge_if_complete(place, options, summary);
  fs::path report_folder = place;
  if (!is_whole && is_part_of_place(place, options)) {
    report_folder = folder_of_part(place, options.part);
    summary.report_folder = Place(report_folder).shown();
  }
  note_reported(summary, options, report_folder);
  return summary;
}

constexpr size_t kTriedSamples = 512;

class NullSink : public PackSink {
 public:
  void append(int64_t, EncodedSample&) override {}
};

// By its first samples.
double seconds_of(const Source& source, const SplitPlan& plan, const ConvertOptions& options) {
  const auto begin =
      static_cast<size_t>(plan.first[static_cast<size_t>(plan.begin_shard - plan.base)]);
  const size_t num_tried = std::min(kTriedSamples, static_cast<size_t>(plan.num_samples()));
  const PackUnit some{.samples = std::span(plan.order).subspan(begin, num_tried)};
  NullSink sink;
  const auto start = std::chrono::steady_clock::now();
  pack_samples(source, plan.split, std::span(&some, 1), options, plan.compression, sink);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return seconds.count() * static_cast<double>(plan.num_samples()) / static_cast<double>(num_tried);
}

// By the first group of the part that has samples: the others are as it is, byte by byte.
void estimate_groups(const GroupedSource& source, const SplitPlan& files,
                     const ConvertOptions& options, ConvertEstimate& estimate) {
  SplitEstimate split{.split = files.manifest.split};
  for (int64_t group = files.begin_shard; group < files.end_shard; ++group) {
    const auto start = std::chrono::steady_clock::now();
    const std::unique_ptr<Source> samples = source.open_group(files.split, files.samples(group));
    if (!samples) continue;
    const SplitPlan plan = plan_group(*samples, files, group, options);
    const std::chrono::duration<double> opening = std::chrono::steady_clock::now() - start;
    const double share = static_cast<double>(files.estimated_bytes()) /
                         static_cast<double>(std::max<int64_t>(files.bytes_of(group), 1));
    const auto whole = [share](int64_t of_group) {
      return std::llround(share * static_cast<double>(of_group));
    };
    split.num_samples = whole(plan.num_samples());
    split.num_shards = whole(plan.num_shards());
    split.file_bytes = whole(plan.estimated_bytes());
    estimate.seconds += share * (opening.count() + seconds_of(*samples, plan, options));
    if (options.note) {
      options.note(fmt::format(
          "{}: the numbers are estimated from one group of files ({:.2g} % of the bytes)",
          files.manifest.split, 100 / share));
    }
    break;
  }
  estimate.splits.push_back(std::move(split));
}

}  // namespace

void check_destination(const fs::path& destination, const ConvertOptions& options) {
  check_reads(destination, options);
  look_at_destination(destination, options);
  static_cast<void>(read_id_list(options));
}

void check_destination(const fs::path& destination, bool resume) {
  ConvertOptions options;
  options.resume = resume;
  look_at_destination(destination, options);
}

ConvertSummary convert(const Source& source, const fs::path& folder,
                       const ConvertOptions& options) {
  const fs::path destination = Place(folder).path();
  const auto start = Clock::now();
  validate(options);
  // What is looked at for the plan is not fetched again.
  const read_ahead::Scope fetched;
  const std::unique_ptr<Source> chosen = choose_samples(source, options);
  const Source& taken = chosen ? *chosen : source;
  if (taken.has_record_references() && options.bad_samples != BadSamples::fail) {
    throw argument_error("bad_samples",
                         "the records of this source refer to each other by number, so no record "
                         "can be left out; convert without " +
                             option_name("bad_samples"));
  }
  check_reads(destination, options);
  refuse_destination_inside(taken.roots(), destination);
  const fs::path place = place_of_part(destination, options);
  note_found_part(options);
  ConvertSummary summary;
  try {
    summary = convert_to(taken, place, options);
  } catch (const Error& error) {
    if (place == destination) throw;
    throw told_by_path(error);
  }
  summary.seconds = seconds_since(start);
  const StoreTraffic traffic = store_traffic();
  summary.num_store_requests = traffic.requests;
  summary.num_store_bytes = traffic.bytes;
  return summary;
}

ConvertEstimate estimate_conversion(const Source& source, const ConvertOptions& options) {
  validate(options);
  const std::unique_ptr<Source> chosen = choose_samples(source, options);
  const Source& taken = chosen ? *chosen : source;
  note_found_part(options);
  ConvertEstimate estimate;
  ConvertOptions trial = options;
  trial.progress = {};
  if (trial.bad_samples == BadSamples::fail)
    trial.bad_samples = BadSamples::skip;  // found when it is done
  for (const SplitPlan& plan : plan_splits(taken, options)) {
    if (plan.is_of_files) {
      estimate_groups(*as_grouped(taken), plan, trial, estimate);
      continue;
    }
    estimate.splits.push_back({.split = plan.manifest.split,
                               .num_samples = plan.num_samples(),
                               .num_shards = plan.end_shard - plan.begin_shard,
                               .file_bytes = plan.estimated_bytes()});
    estimate.seconds += seconds_of(taken, plan, trial);
  }
  return estimate;
}

}  // namespace ffkit
