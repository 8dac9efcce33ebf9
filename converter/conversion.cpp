#include "conversion.h"

#include <fmt/format.h>

#include <ffkit/format/dataset_writer.h>

#include "base/make_error.h"
#include "output/destination_checks.h"
#include "output/make_shards.h"
#include "output/own_names.h"
#include "output/store_parts.h"
#include "output/task_description.h"
#include "plan/plan_fingerprint.h"
#include "split_conversion.h"
#include "storage/addresses/place.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

ReportCounts counts_of(const fs::path& report) {
  ReportCounts counts;
  for_report_lines(read_report(report),
                   [&](const ReportLine& line, std::string_view) { counts.add(line); });
  return counts;
}

// One conversion, from claiming the folder to its commit or its failure.
class Conversion {
 public:
  // `name`: of the folder, as the user gave it.
  Conversion(const Source& source, Destination& claimed, const fs::path& name,
             const ConvertOptions& options)
      : source_(source), claimed_(claimed), name_(name), options_(options) {}

  ConvertSummary run() {
    claimed_.note_start_over(options_.note, name_);
    plans_ = plan_all_splits(source_, options_);
    const std::string shared_plan = plans_.empty() ? "" : plans_.front().shared_plan;
    if (const std::optional<Error> nothing = keep_plans_with_shards(plans_, options_.part)) {
      return make_nothing(*nothing, shared_plan);
    }
    const std::string plan = describe_plan(plans_, options_);
    if (claimed_.goes_on()) require_same_plan(plan);
    if (claimed_.is_finished()) return finished_part();
    claimed_.set_plan(plan);
    std::vector<Destination::Shards> shards;
    shards.reserve(plans_.size());
    for (const SplitPlan& split : plans_) {
      const int64_t each = split.is_of_files ? kShardsOfGroup : 1;
      shards.push_back({split.manifest.split, each * split.begin_shard, each * split.end_shard});
    }
    claimed_.set_shards(std::move(shards), shared_plan);
    require_space();
    ConvertSummary summary{.num_classes = static_cast<int64_t>(source_.classes().size())};
    // It was written when all shards had been, and what it was made of may be gone in part.
    const bool has_report = claimed_.goes_on() && is_file_at(claimed_.report_path());
    ReportFile report(claimed_.report_path());
    for (const SplitPlan& split : plans_) {
      summary.splits.push_back(
          SplitConversion(source_, split, claimed_, name_, options_).make(report));
    }
    if (!has_report) report.finish();
    put_into(summary, has_report ? counts_of(claimed_.report_path()) : report.counts());
    for (const SplitPlan& split : plans_) {
      remove_temporary_files(claimed_.folder() / split.manifest.split);
    }
    claimed_.commit();
    return summary;
  }

  // True when what was found in the folder is of another conversion.
  bool is_refused() const { return is_refused_; }
  // What is planned, and how much of it is there: "3 of 12 shards are finished". Groups of files
  // are planned one by one. Empty before there is a plan.
  std::string finished_of_planned(int64_t num_finished) const {
    int64_t num_planned = 0;
    bool are_groups = false;
    for (const SplitPlan& plan : plans_) {
      num_planned += plan.end_shard - plan.begin_shard;
      are_groups = are_groups || plan.is_of_files;
    }
    if (num_planned == 0) return {};
    if (!are_groups) return fmt::format("{} of {} shards are finished", num_finished, num_planned);
    return fmt::format("of {} groups of files, {} {} finished", num_planned, num_finished,
                       num_finished == 1 ? "shard is" : "shards are");
  }

 private:
  // There are more parts than shards: those that are left over have finished, so that a merge has
  // all.
  ConvertSummary make_nothing(const Error& nothing, const std::string& shared_plan) {
    if (shared_plan.empty() || !Place(claimed_.folder()).is_in_store()) throw Error(nothing);
    note(nothing.message());
    if (!claimed_.is_finished()) {
      claimed_.set_plan(shared_plan);
      claimed_.set_shards({}, shared_plan);
      claimed_.commit();
    } else {
      claimed_.keep();
    }
    return {.num_classes = static_cast<int64_t>(source_.classes().size())};
  }

  // What another run of this part has made.
  ConvertSummary finished_part() {
    ConvertSummary summary{.num_classes = static_cast<int64_t>(source_.classes().size()),
                           .was_finished = true};
    put_into(summary, counts_of(claimed_.report_path()));
    for (const SplitPlan& plan : plans_) {
      const fs::path folder = claimed_.folder() / plan.manifest.split;
      const Manifest manifest = read_manifest(folder / kManifestFile);
      const int64_t num_samples =
          plan.is_of_files
              ? manifest.num_records() + num_left_out(claimed_.report_path(), plan.manifest.split)
              : plan.num_samples();
      summary.splits.push_back(summary_of(manifest, num_samples - manifest.num_records()));
    }
    claimed_.keep();
    note(fmt::format("part {} of {} is already finished; nothing was written", options_.part.index,
                     options_.part.count));
    return summary;
  }

  void note(const std::string& sentence) const {
    if (options_.note) {
      options_.note(fmt::format("{}: {}", Place(name_).shown(), sentence));
    }
  }

  void require_same_plan(const std::string& plan) {
    const std::string& found = claimed_.found_plan();
    // What is worth keeping comes after the plan; without any there is nothing to mix up.
    if (found.empty() && !claimed_.holds_work()) return;
    std::string difference = plan_difference(found, plan);
    if (!difference.empty() && differ_in_times_alone(found, plan)) {
      difference = difference_of_contents();
    }
    if (difference.empty()) return;
    is_refused_ = true;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the destination has an unfinished conversion, and this conversion "
                            "differs in {}; give the source and the options of the unfinished "
                            "conversion, or run without {} to start over",
                            difference, option_on("resume")),
                {.path = name_.string(), .subject = ErrorSubject::destination});
  }

  // Of the shards that are there. Samples that were gathered are gathered anew.
  std::string difference_of_contents() const {
    note(kContentsNote);
    for (const SplitPlan& plan : plans_) {
      const fs::path folder = claimed_.shards_folder(plan.manifest.split);
      std::string changed =
          first_changed(source_, plan, folder, MissingShards::unwritten, options_);
      if (!changed.empty()) return changed;
    }
    for (const SplitPlan& plan : plans_) {
      remove_file_at(claimed_.folder() / plan.manifest.split / kGatheredFile);
    }
    return {};
  }

  // What a conversion that ended early has written is not needed again.
  void require_space() const {
    if (is_in_store(claimed_.folder())) return;  // a store has no end
    int64_t num_bytes = 0;
    for (const SplitPlan& plan : plans_) {
      const fs::path folder = Place(claimed_.shards_folder(plan.manifest.split)).path_on_disk();
      if (plan.is_of_files) {
        // Shards take about what their files do.
        num_bytes += plan.estimated_bytes();
        for (const auto& [name, size] : files_there(folder)) num_bytes -= size;
        continue;
      }
      std::vector<PackUnit> units = plan.units();
      std::erase_if(units, [&folder](const PackUnit& unit) {
        return fs::exists(folder / shard_file_name(unit.number));
      });
      num_bytes += bytes_of(plan, units);
    }
    require_free_space(options_.read == ReadMode::gather ? 2 * num_bytes : num_bytes,
                       Place(claimed_.folder()).path_on_disk());
  }

  static void remove_temporary_files(const fs::path& folder) {
    for (const auto& [name, num_bytes] : files_there(folder)) {
      if (name.ends_with(".tmp")) remove_file_at(folder / name);
    }
  }

  const Source& source_;
  Destination& claimed_;
  const fs::path& name_;
  const ConvertOptions& options_;
  std::vector<SplitPlan> plans_;
  bool is_refused_ = false;
};

// An early end. The destination keeps what is worth it; this says how to go on.
[[noreturn]] void end_early(const Error& error, bool can_skip, Destination& claimed,
                            const Conversion& conversion) {
  if (conversion.is_refused()) {
    claimed.keep();
    throw Error(error);
  }
  bool holds_work = true;
  std::optional<int64_t> num_shards;
  try {
    holds_work = claimed.holds_work();
    num_shards = claimed.num_shards();
  } catch (const std::exception&) {
    // A store that does not answer: what is finished is there.
  }
  if (!holds_work) throw after_removal(error);
  const ErrorCode code = error.code();
  // Such as credentials that were refused in the middle.
  const bool is_of_store = Place(claimed.folder()).is_in_store() &&
                           code == ErrorCode::invalid_argument &&
                           error.context().subject != ErrorSubject::destination &&
                           error.context().path.starts_with(Place(claimed.folder()).shown() + "/");
  const bool is_of_system = code == ErrorCode::io || code == ErrorCode::cancelled || is_of_store;
  std::string first = remedy_of_errno(error.context().errno_value);
  const std::string own = first.empty() ? error.context().remedy : "";
  std::string with = option_on("resume");
  if (code == ErrorCode::not_found) {
    // The source is no longer what was listed, and a shorter list would be another conversion.
    first = "restore the old file";
  } else if (error.context().subject == ErrorSubject::sample && !is_of_system) {
    if (!can_skip) throw Error(error);
    with = option_set("bad_samples", "skip") + " and " + with;
  } else if (!is_of_system) {
    throw Error(error);  // of what was written, or of the source as a whole: it stays so
  }
  if (conversion.finished_of_planned(0).empty()) throw Error(error);
  throw error.with_remedy(fmt::format(
      "{}{}: {}run the conversion again with {} to continue", own.empty() ? "" : own + "; ",
      !num_shards        ? "finished shards are kept"
      : *num_shards == 0 ? "the archive was read completely, and its pictures are kept"
                         : conversion.finished_of_planned(*num_shards),
      first.empty() ? "" : first + ", then ", with));
}

// The shards of a part in a store are not where its manifest is.
Dataset open_part(const fs::path& destination, const ConvertPart& part, const std::string& split) {
  std::vector<fs::path> files;
  const fs::path folder = folder_of_part(destination, part) / split;
  for (const ManifestShard& shard : read_manifest(folder / kManifestFile).shards) {
    files.push_back(destination / split / shard.file);
  }
  return Dataset::open_files(files);
}

}  // namespace

bool is_in_store(const fs::path& folder) {
  return !Place(folder).is_on_disk();
}

void add_facts(ConvertSummary& summary, const Source& source, const fs::path& destination,
               const ConvertPart& part) {
  summary.headers_only = source.checks_headers_only();
  if (source.totals().empty()) return;
  for (SplitSummary& split : summary.splits) {
    const Dataset written = part.count > 1 && Place(destination).is_in_store()
                                ? open_part(destination, part, split.split)
                                : Dataset::open(destination / split.split);
    split.totals = column_totals(written, source.totals());
  }
}

ConvertSummary make_data_set(const Source& source, Destination& claimed, const fs::path& place,
                             const ConvertOptions& options) {
  const bool can_skip = options.bad_samples == BadSamples::fail && !source.has_record_references();
  Conversion conversion(source, claimed, place, options);
  try {
    ConvertSummary summary = conversion.run();
    add_facts(summary, source, place, options.part);
    return summary;
  } catch (...) {
    const Error error = current_error(place);
    if (claimed.is_finished() && !conversion.is_refused()) throw error;
    end_early(error, can_skip, claimed, conversion);
  }
}

}  // namespace ffkit
