#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include <ffkit/converter/convert.h>

#include "base/make_error.h"
#include "conversion.h"
#include "input/cancel.h"
#include "merge/store_merge.h"
#include "output/destination.h"
#include "output/destination_checks.h"
#include "output/split_summary.h"
#include "output/store_parts.h"
#include "pack/report.h"
#include "places/place.h"
#include "plan/chosen_source.h"
#include "plan/part_range.h"
#include "plan/split_plan.h"
#include "storage/addresses/place.h"

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
      note(fmt::format("{}{} of {} bytes ({:.2g} %) are no UTF-8 and became U+FFFD{}",
                       percent > kSuspicious ? "warning: " : "", count, num_bytes, percent,
                       percent > kSuspicious
                           ? "; if the texts are Latin-1 or another encoding, convert them first, "
                             "as with iconv -f LATIN1 -t UTF-8"
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
    throw io_error_at(destination, "cannot be examined", error.code().value());
  } catch (const Error& error) {
    if (place == destination) throw;
    throw told_by_path(error);
  }
}

void check_reads(const fs::path& destination, const ConvertOptions& options) {
  if (!is_in_store(destination) || options.read != ReadMode::gather) return;
  throw argument_error(
      "read", fmt::format("{} needs a folder as destination: the files through which the source "
                          "would be read once lie beside the shards, and a store has no place for "
                          "them; leave it out",
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
    summary.report_folder = Place(report_folder).path_on_disk().string();
  }
  note_reported(summary, options, report_folder);
  return summary;
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
  const std::unique_ptr<Source> chosen = choose_samples(source, options);
  const Source& taken = chosen ? *chosen : source;
  if (taken.has_record_references() && options.on_error != OnError::fail) {
    throw argument_error(
        "on_error",
        "records of this source refer to each other by number, so none can be left out: "
        "convert without " +
            option_name("on_error"));
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
  return summary;
}

}  // namespace ffkit
