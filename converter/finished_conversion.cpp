#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/shard_reader.h>

#include "base/make_error.h"
#include "conversion.h"
#include "input/cancel.h"
#include "input/grouped_source.h"
#include "merge/merge_rules.h"
#include "output/own_names.h"
#include "output/task_description.h"
#include "pack/packer.h"
#include "pack/report.h"
#include "plan/plan_fingerprint.h"
#include "plan/split_plan.h"
#include "storage/addresses/place.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

using Words = std::map<std::string, std::string>;

// The first that is not the same in both; words about the part of a conversion and, where they are
// paths, about the place of the source do not count.
std::string first_difference(const Words& found, const Words& planned, const char* what) {
  Words all = found;
  all.insert(planned.begin(), planned.end());
  const auto value = [](const Words& words, const std::string& key) {
    const auto at = words.find(key);
    return at == words.end() ? std::string("nothing") : at->second;
  };
  for (const auto& [key, unused] : all) {
    const std::string then = value(found, key);
    const std::string now = value(planned, key);
    if (key.starts_with(kPart) || (then.starts_with('/') && now.starts_with('/'))) {
      continue;
    }
    if (then != now) return fmt::format("{} {} (was '{}', now '{}')", what, key, then, now);
  }
  return {};
}

std::string difference_of_part(const Manifest& found, const ConvertPart& part) {
  const std::string text = option_in(found, kPart);
  const ConvertPart then = parse_part_range(text).value_or(PartRange()).part;
  if (then.index == part.index && then.count == part.count) return {};
  return fmt::format("{} (was {}/{}, now {}/{})", option_name("part"), then.index, then.count,
                     part.index, part.count);
}

std::string difference_of_shards(const Dataset& found, const SplitPlan& plan) {
  if (plan.is_of_files) return {};  // they follow from the files, the groups and the options
  int64_t next = 0;
  for (int64_t shard = plan.begin_shard; shard < plan.end_shard; ++shard) {
    const auto num_samples = static_cast<int64_t>(plan.samples(shard).size());
    // One whose samples were all left out was not written.
    const bool is_there =
        next < found.num_shards() && found.shard(next).facts().uuid == plan.uuid(shard);
    if (is_there && found.shard(next).num_records() > num_samples) break;
    if (is_there) ++next;
  }
  return next == found.num_shards() ? "" : "the shards";
}

// Samples of a split with an error, by the lines of the report.
struct BadCounts {
  int64_t left_out = 0;
  int64_t kept = 0;       // as they are
  int64_t documents = 0;  // left out of samples
};

// Left-out samples fit BadSamples::keep, which leaves out what cannot be read at all.
std::string difference_of_bad_samples(const BadCounts& bad, BadSamples bad_samples) {
  const auto words = [bad_samples](int64_t count, const char* action, const char* what = "sample") {
    return fmt::format("option bad_samples ({} {}{} {}, but the option is now '{}')", count, what,
                       count == 1 ? " was" : "s were", action, to_string(bad_samples));
  };
  if (bad.left_out > 0 && bad_samples == BadSamples::fail) return words(bad.left_out, "left out");
  if (bad.documents > 0 && bad_samples == BadSamples::fail) {
    return words(bad.documents, "left out", "document");
  }
  if (bad.kept > 0 && bad_samples != BadSamples::keep)
    return words(bad.kept, "kept despite errors");
  return {};
}

std::string difference_of_facts(const Dataset& found, const SplitPlan& plan, const BadCounts& bad,
                                const ConvertOptions& options) {
  const Manifest& manifest = found.manifest();
  Words facts = manifest.source;
  Words planned = plan.manifest.source;
  for (Words* words : {&facts, &planned}) {
    words->erase(kListing);
    std::erase_if(*words, [](const auto& fact) { return is_beside_the_data(fact.first); });
  }
  if (auto words = manifest.schema.difference(plan.manifest.schema); !words.empty()) {
    return "the fields: " + words;
  }
  if (manifest.classes != plan.manifest.classes ||
      manifest.class_names != plan.manifest.class_names ||
      manifest.class_ids != plan.manifest.class_ids) {
    return "the classes";
  }
  for (const std::string& words :
       {first_difference(manifest.options, plan.manifest.options, "option"),
        first_difference(facts, planned, "the source's"),
        difference_of_part(manifest, options.part),
        difference_of_bad_samples(bad, options.bad_samples)}) {
    if (!words.empty()) return words;
  }
  if (!plan.is_of_files && found.num_records() + bad.left_out != plan.num_samples()) {
    return fmt::format("the number of samples (was {}, now {})", found.num_records() + bad.left_out,
                       plan.num_samples());
  }
  return {};
}

// In words that name the split; empty when nothing differs.
std::string difference_of(const Dataset& found, const Source& source, const SplitPlan& plan,
                          const BadCounts& bad, const ConvertOptions& options) {
  const std::string& name = plan.manifest.split;
  const std::string facts = difference_of_facts(found, plan, bad, options);
  if (!facts.empty()) return fmt::format("{} in split '{}'", facts, name);
  const auto listing = found.manifest().source.find(kListing);
  if (listing == found.manifest().source.end()) {
    return fmt::format("the listing of the source (the manifest of split '{}' has no listing)",
                       name);
  }
  const std::string planned = describe_split(plan);
  std::string words = split_difference(name, listing->second, planned);
  if (!words.empty() && differ_in_times_alone(listing->second, planned)) {
    if (options.note) {
      options.note(fmt::format("{}: {}", Place(found.path()).shown(), kContentsNote));
    }
    words = first_changed(source, plan, found.path(), MissingShards::left_out, options);
  }
  if (!words.empty()) return words;
  const std::string shards = difference_of_shards(found, plan);
  return shards.empty() ? "" : fmt::format("{} of split '{}'", shards, name);
}

// What a report says: by split, and to count.
struct FinishedReport {
  std::map<std::string, BadCounts> bad;
  ReportCounts counts;
};

FinishedReport read_finished(const fs::path& path) {
  FinishedReport report;
  for_report_lines(read_report(path), [&](const ReportLine& line, std::string_view) {
    report.counts.add(line);
    BadCounts& bad = report.bad[line.split];
    if (line.problem.action == kSampleLeftOut) ++bad.left_out;
    if (line.problem.action == kKeptAsItIs) ++bad.kept;
    if (line.problem.action == kDocumentLeftOut) ++bad.documents;
  });
  return report;
}

struct Changed {
  int64_t sample;
};

// Takes records as SplitWriter does, and throws Changed at the first that is another one.
class RecordComparison : public PackSink {
 public:
  explicit RecordComparison(fs::path folder) : folder_(std::move(folder)) {}

  void begin(int64_t unit) override {
    const fs::path path = folder_ / shard_file_name(unit);
    shard_.reset();
    if (is_file_at(path)) shard_.emplace(path);
    next_ = 0;
  }

  void append(int64_t sample, EncodedSample& encoded) override {
    last_ = sample;
    if (encoded.error) return;  // it has no record, then as now: end() counts them
    if (!shard_ || next_ == shard_->num_records()) throw Changed{sample};
    const RecordLocation then = shard_->locate(next_++);
    const StoredRecord& now = encoded.stored;
    if (then.checksum != now.crc32c || then.codec != now.codec ||
        std::cmp_not_equal(then.stored_bytes, now.bytes.size()) ||
        std::cmp_not_equal(then.raw_bytes, encoded.record.size())) {
      throw Changed{sample};
    }
  }

  void end() override {
    if (shard_ && next_ != shard_->num_records()) throw Changed{last_};
  }

 private:
  const fs::path folder_;
  std::optional<ShardReader> shard_;
  int64_t next_ = 0;
  int64_t last_ = 0;
};

std::optional<std::string> first_changed_sample(const Source& source, const SplitPlan& plan,
                                                const fs::path& folder, MissingShards missing,
                                                const ConvertOptions& options) {
  std::vector<PackUnit> units = plan.units();
  if (missing == MissingShards::unwritten) {
    std::erase_if(units, [&folder](const PackUnit& unit) {
      return !is_file_at(folder / shard_file_name(unit.number));
    });
  }
  RecordComparison comparison(folder);
  try {
    pack_samples(source, plan.split, units, options, plan.compression, comparison);
  } catch (const Changed& changed) {
    return source.describe(plan.split, changed.sample);
  }
  return std::nullopt;
}

std::optional<std::string> first_changed_in_groups(const GroupedSource& source,
                                                   const SplitPlan& files, const fs::path& folder,
                                                   MissingShards missing,
                                                   const ConvertOptions& options) {
  const auto there = files_there(folder);
  for (int64_t group = files.begin_shard; group < files.end_shard; ++group) {
    throw_if_cancelled(options.cancel);
    const bool has_shards = std::ranges::any_of(there, [&](const auto& file) {
      const std::optional<int64_t> number = number_of_shard(file.first);
      return number && *number / kShardsOfGroup == group;
    });
    if (!has_shards && missing == MissingShards::unwritten) continue;
    const std::unique_ptr<Source> samples = source.open_group(files.split, files.samples(group));
    if (!samples && has_shards) return source.describe(files.split, files.samples(group).front());
    if (!samples) continue;
    const SplitPlan plan = plan_group(*samples, files, group, options);
    auto changed = first_changed_sample(*samples, plan, folder, missing, options);
    if (changed) return changed;
  }
  return std::nullopt;
}

}  // namespace

int64_t num_left_out(const fs::path& report, const std::string& split) {
  return read_finished(report).bad[split].left_out;
}

void put_into(ConvertSummary& summary, const ReportCounts& counts) {
  summary.num_reported = counts.num_lines;
  summary.without_dct = counts.without_dct;
  summary.remarks = counts.remarks;
  summary.reported = counts.by_action;
}

bool holds_finished_data_set(const fs::path& folder) {
  if (Place(folder).is_in_store()) {
    return !is_file_at(folder / kUnfinishedMarker) && !list_splits(folder).empty();
  }
  return fs::is_directory(folder) && !fs::exists(fs::symlink_status(folder / kUnfinishedMarker)) &&
         !list_splits(folder).empty();
}

ConvertSummary finished_conversion(const fs::path& folder, const Source& source,
                                   const std::vector<SplitPlan>& plans,
                                   const ConvertOptions& options) {
  const auto refuse = [&folder](const std::string& words) {
    throw error_at(folder, ErrorCode::invalid_argument,
                   "the folder already contains a data set from a conversion that differs in {}; "
                   "remove the data set or give another folder",
                   words);
  };
  FinishedReport report = read_finished(folder / kReportFile);
  std::vector<std::string> names;
  names.reserve(plans.size());
  for (const SplitPlan& plan : plans) names.push_back(plan.manifest.split);
  std::ranges::sort(names);
  if (names != list_splits(folder)) refuse("the splits");
  ConvertSummary summary{.was_finished = true};
  put_into(summary, report.counts);
  for (const SplitPlan& plan : plans) {
    const Dataset found = Dataset::open(folder, plan.manifest.split);
    const BadCounts& bad = report.bad[plan.manifest.split];
    const std::string words = difference_of(found, source, plan, bad, options);
    if (!words.empty()) refuse(words);
    summary.splits.push_back(summary_of(found.manifest(), bad.left_out));
    summary.num_classes = static_cast<int64_t>(plan.manifest.classes.size());
  }
  if (options.note) {
    options.note(
        fmt::format("{}: is already finished: it has the splits, options, shards and samples of "
                    "this conversion; nothing was written",
                    Place(folder).shown()));
  }
  return summary;
}

std::string first_changed(const Source& source, const SplitPlan& plan, const fs::path& folder,
                          MissingShards missing, const ConvertOptions& options) {
  const std::optional<std::string> changed =
      plan.is_of_files
          ? first_changed_in_groups(*as_grouped(source), plan, folder, missing, options)
          : first_changed_sample(source, plan, folder, missing, options);
  if (!changed) return {};
  return fmt::format("the contents of '{}' in the split '{}'", *changed, plan.manifest.split);
}

}  // namespace ffkit
