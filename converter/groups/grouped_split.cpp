#include "groups/grouped_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "groups/files_there.h"
#include "groups/note_tally.h"
#include "input/cancel.h"
#include "output/gather.h"
#include "output/make_shards.h"
#include "output/own_names.h"
#include "output/split_writer.h"
#include "plan/group_plan.h"
#include "plan/plan_fingerprint.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "storage/writer/file_sink.h"

namespace ffkit {

namespace fs = std::filesystem;

namespace {

// The groups of a part of a conversion that are made: what progress says of the others is guessed
// from their bytes.
int64_t guess(int64_t num_samples, int64_t of_bytes, int64_t all_bytes) {
  if (of_bytes <= 0) return num_samples;
  return static_cast<int64_t>(static_cast<double>(num_samples) * static_cast<double>(all_bytes) /
                              static_cast<double>(of_bytes));
}

}  // namespace

GroupedSplit::GroupedSplit(const GroupedSource& source, const SplitPlan& files,
                           Destination& claimed, const fs::path& name,
                           const ConvertOptions& options)
    : source_(source),
      files_(files),
      claimed_(claimed),
      name_(name),
      options_(options),
      notes_(options.note) {
  for (const std::string& sentence : source.notes()) notes_.know(sentence);
}

fs::path GroupedSplit::reports_folder() const {
  return claimed_.folder() / files_.manifest.split;
}

std::string GroupedSplit::named(const std::string& sentence) const {
  return fmt::format("{}: {}", Place(name_).shown(), sentence);
}

Manifest GroupedSplit::make() {
  const int64_t num_groups = files_.end_shard - files_.begin_shard;
  std::vector<std::optional<FinishedGroup>> found(static_cast<size_t>(num_groups));
  int64_t num_found = 0;
  if (claimed_.goes_on()) {
    const auto there = files_there(claimed_.shards_folder(files_.manifest.split));
    for (int64_t i = 0; i < num_groups; ++i) {
      auto& group = found[static_cast<size_t>(i)];
      group = read_group_log(reports_folder(), files_.begin_shard + i, there);
      if (!group) continue;
      ++num_found;
      num_taken_over_ += group->num_samples;
    }
  }
  if (num_found > 0 && options_.note) {
    options_.note(named(fmt::format("{}: {} of {} groups of files are there; going on",
                                    files_.manifest.split, num_found, num_groups)));
  }
  for (int64_t i = 0; i < num_groups; ++i) {
    throw_if_cancelled(options_.cancel);
    auto& group = found[static_cast<size_t>(i)];
    const int64_t number = files_.begin_shard + i;
    add(number, group ? *std::exchange(group, std::nullopt) : make_group(number));
  }
  notes_.finish();
  Manifest manifest = files_.finished(source_, std::move(shards_), options_);
  if (!samples_.empty()) manifest.source[kSamples] = samples_;
  return manifest;
}

void GroupedSplit::add(int64_t group, FinishedGroup finished) {
  std::ranges::move(finished.shards, std::back_inserter(shards_));
  std::ranges::move(finished.reports, std::back_inserter(reports_));
  samples_ = joined_samples(samples_, finished.samples);
  num_samples_ += finished.num_samples;
  bytes_done_ += files_.bytes_of(group);
}

FinishedGroup GroupedSplit::make_group(int64_t group) {
  FinishedGroup finished;
  const std::unique_ptr<Source> source = source_.open_group(files_.split, files_.samples(group));
  if (source) {
    for (const std::string& sentence : source->notes()) notes_.add(sentence);
    ConvertOptions options = options_;
    options.note = [this](const std::string& sentence) { notes_.add(named(sentence)); };
    const SplitPlan plan = plan_group(*source, files_, group, options);
    SplitWriter writer(*source, plan, claimed_.shards_folder(files_.manifest.split),
                       reports_folder(), [this] { claimed_.require_held(); });
    std::vector<PackUnit> units;
    int64_t num_before = 0;
    for (const PackUnit& unit : plan.units()) {
      if (writer.take_over(unit.number)) {
        num_before += std::ssize(unit.samples);
      } else {
        units.push_back(unit);
      }
    }
    const fs::path folder = Place(reports_folder()).path_on_disk();
    make_shards(*source, plan, units, folder, options, writer,
                progress_of(plan, num_before, record_noun(*source)));
    finished.shards = writer.finish();
    finished.reports = writer.reports();
    finished.num_samples = plan.num_samples();
    finished.samples = plan.listing.samples;
    if (!Place(folder).is_in_store()) remove_gathered(folder, plan.units());
  }
  claimed_.require_held();
  write_group_log(reports_folder(), group, files_.manifest, finished);
  return finished;
}

std::function<void(const PackProgress&)> GroupedSplit::progress_of(const SplitPlan& plan,
                                                                   int64_t num_before,
                                                                   const char* records) const {
  if (!options_.progress) return {};
  const int64_t group = plan.base / kShardsOfGroup;
  const int64_t num_samples = guess(num_samples_ + plan.num_samples(),
                                    bytes_done_ + files_.bytes_of(group), files_.estimated_bytes());
  return [this, num_samples, num_before, records](const PackProgress& progress) {
    options_.progress({.split = files_.manifest.split,
                       .num_samples = num_samples,
                       .num_done = num_samples_ + num_before + progress.num_done,
                       .num_before = num_taken_over_ + num_before,
                       .num_skipped = progress.num_skipped,
                       .bytes_done = progress.record_bytes,
                       .records = records});
  };
}

void GroupedSplit::add_lines_to(ReportFile& report) const {
  for (const int64_t shard : reports_) {
    report.add(read_report(reports_folder() / report_name(shard)));
  }
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

}  // namespace ffkit
