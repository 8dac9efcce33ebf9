#include "conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <ffkit/format/dataset_writer.h>

#include "finished_conversion.h"
#include "format/make_error.h"
#include "input/cancel.h"
#include "output/column_totals.h"
#include "output/destination_checks.h"
#include "output/gather.h"
#include "output/record_comparison.h"
#include "output/split_writer.h"
#include "output/store_parts.h"
#include "pack/packer.h"
#include "pack/report.h"
#include "places/place_address.h"
#include "plan/plan_fingerprint.h"
#include "plan/split_plan.h"
#include "storage/reader/places.h"
#include "storage/stores/object_store.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Progress of a split in the user's terms.
std::function<void(const PackProgress&)> progress_of(const ConvertOptions& options,
                                                     const SplitPlan& plan, int64_t num_before,
                                                     const char* records) {
  if (!options.progress) return {};
  return [&options, &plan, num_before, records](const PackProgress& progress) {
    options.progress({.split = plan.manifest.split,
                      .num_samples = plan.num_samples(),
                      .num_done = num_before + progress.num_done,
                      .num_before = num_before,
                      .num_skipped = progress.num_skipped,
                      .bytes_done = progress.record_bytes,
                      .records = records});
  };
}

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
    const std::string why_none = keep_plans_with_shards(plans_, options_.part);
    if (plans_.empty()) return make_nothing(why_none, shared_plan);
    const std::string plan = describe_plan(plans_, options_);
    if (claimed_.goes_on()) require_same_plan(plan);
    if (claimed_.is_finished()) return finished_part();
    claimed_.set_plan(plan);
    std::vector<Destination::Shards> shards;
    shards.reserve(plans_.size());
    for (const SplitPlan& split : plans_) {
      shards.push_back({split.manifest.split, split.begin_shard, split.end_shard});
    }
    claimed_.set_shards(std::move(shards), shared_plan);
    require_space();
    ConvertSummary summary{.num_classes = static_cast<int64_t>(source_.classes().size())};
    // It was written when all shards had been, and what it was made of may be gone in part.
    const bool has_report = claimed_.goes_on() && is_file_at(claimed_.report_path());
    ReportFile report(claimed_.report_path());
    for (const SplitPlan& split : plans_) summary.splits.push_back(convert_split(split, report));
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
  // Shards that are planned; 0 before there is a plan.
  int64_t num_shards() const {
    int64_t num_shards = 0;
    for (const SplitPlan& plan : plans_) num_shards += plan.end_shard - plan.begin_shard;
    return num_shards;
  }

 private:
  // There are more parts than shards: those that are left over have finished, so that a merge has
  // all.
  ConvertSummary make_nothing(const std::string& why, const std::string& shared_plan) {
    if (shared_plan.empty() || !is_address(claimed_.folder())) {
      throw error_of(ErrorCode::invalid_argument, "{}; take fewer parts or a smaller shard size",
                     why);
    }
    note(why);
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
      summary.splits.push_back(summary_of(plan, read_manifest(folder / "manifest.json")));
    }
    claimed_.keep();
    note(fmt::format("part {} of {} has finished already; nothing was written", options_.part.index,
                     options_.part.count));
    return summary;
  }

  static SplitSummary summary_of(const SplitPlan& plan, const Manifest& manifest) {
    return {.split = plan.manifest.split,
            .num_records = manifest.num_records(),
            .num_skipped = plan.num_samples() - manifest.num_records(),
            .num_shards = static_cast<int64_t>(manifest.shards.size()),
            .file_bytes = manifest.file_bytes(),
            .fingerprint = manifest.fingerprint()};
  }

  void note(const std::string& sentence) const {
    if (options_.note) {
      options_.note(fmt::format("{}: {}", name_.string(), sentence));
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
                fmt::format("holds the beginning of another conversion: what differs is {}; give "
                            "the source and the options it was begun with, or run without "
                            "{} to start over",
                            difference, option_on("resume")),
                {.path = name_.string(), .subject = ErrorSubject::destination});
  }

  // Of the shards that are there. Samples that were gathered are gathered anew.
  std::string difference_of_contents() const {
    note(kContentsNote);
    for (const SplitPlan& plan : plans_) {
      const fs::path folder = claimed_.shards_folder(plan.manifest.split);
      const auto changed =
          first_changed_sample(source_, plan, folder, MissingShards::unwritten, options_);
      if (changed) {
        return fmt::format("the content of '{}', of split '{}'", *changed, plan.manifest.split);
      }
    }
    for (const SplitPlan& plan : plans_) {
      remove_file_at(claimed_.folder() / plan.manifest.split / Destination::kGathered);
    }
    return {};
  }

  // What a conversion that ended early has written is not needed again.
  void require_space() const {
    if (is_in_store(claimed_.folder())) return;  // a store has no end
    int64_t num_bytes = 0;
    for (const SplitPlan& plan : plans_) {
      const fs::path folder = path_of_place(claimed_.shards_folder(plan.manifest.split).native());
      std::vector<PackUnit> units = plan.units();
      std::erase_if(units, [&folder](const PackUnit& unit) {
        return fs::exists(folder / shard_file_name(unit.number));
      });
      num_bytes += bytes_of(plan, units);
    }
    require_free_space(options_.read == ReadMode::gather ? 2 * num_bytes : num_bytes,
                       path_of_place(claimed_.folder().native()));
  }

  static int64_t bytes_of(const SplitPlan& plan, std::span<const PackUnit> units) {
    int64_t num_bytes = 0;
    for (const PackUnit& unit : units) {
      num_bytes += plan.shard_bytes[static_cast<size_t>(unit.number)];
    }
    return num_bytes;
  }

  SplitSummary convert_split(const SplitPlan& plan, ReportFile& report) {
    const fs::path folder = claimed_.folder() / plan.manifest.split;
    SplitWriter writer(source_, plan, claimed_.shards_folder(plan.manifest.split), folder,
                       [this] { claimed_.require_held(); });
    std::vector<PackUnit> units;
    int64_t num_before = 0;
    for (const PackUnit& unit : plan.units()) {
      if (writer.take_over(unit.number)) {
        num_before += static_cast<int64_t>(unit.samples.size());
      } else {
        units.push_back(unit);
      }
    }
    if (writer.num_finished() > 0) {
      note(fmt::format("{}: {} of {} shards are there; going on", plan.manifest.split,
                       writer.num_finished(), plan.end_shard - plan.begin_shard));
    }
    const auto on_progress = progress_of(options_, plan, num_before, record_noun(source_));
    const fs::path gather_folder = path_of_place(folder.native());
    if (reads_by_gathering(plan, units, gather_folder)) {
      if (!is_address(gather_folder)) fs::create_directories(gather_folder);
      gather_samples(source_, plan, units, gather_folder, options_, writer, on_progress);
    } else {
      pack_samples(source_, plan.split, units, options_, plan.compression, writer, on_progress);
      throw_if_cancelled(options_.cancel);
    }
    const Manifest manifest = plan.finished(source_, writer.finish(), options_);
    if (manifest.shards.empty()) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("split '{}': none of the {} {} could be read, the first being {}",
                              plan.manifest.split, plan.num_samples(), record_noun(source_),
                              source_.describe(plan.split, plan.order.front())),
                  {.subject = ErrorSubject::source});
    }
    claimed_.require_held();
    write_manifest(folder / "manifest.json", manifest);
    writer.add_lines_to(report);
    return summary_of(plan, manifest);
  }

  // `folder`: a path, or the address of a store.
  bool reads_by_gathering(const SplitPlan& plan, std::span<const PackUnit> units,
                          const fs::path& folder) const {
    if (units.empty()) return false;
    if (options_.read != ReadMode::automatic) return options_.read == ReadMode::gather;
    if (!is_address(folder) && is_gathered(folder)) return true;
    if (source_.reads_in_order()) return must_gather(plan, units, folder);
    if (!dislikes_scattered_reads(source_, plan.split, units)) return false;
    if (is_address(folder)) {
      note(fmt::format(
          "{}: scattered reads are slow on the disk of {}, but a store has no place for the files "
          "through which it would be read once; it is read where the pictures lie",
          plan.manifest.split, source_.archive(plan.split).string()));
      return false;
    }
    const int64_t needed = 2 * bytes_of(plan, units);
    if (const int64_t num_free = free_space(folder); needed > num_free) {
      note(fmt::format(
          "{}: scattered reads are slow on the disk of {}, but reading it once would take {} MB "
          "for a while and {} MB are free; it is read where the pictures lie",
          plan.manifest.split, source_.archive(plan.split).string(), needed / 1'000'000,
          num_free / 1'000'000));
      return false;
    }
    note(fmt::format(
        "{}: scattered reads are slow on the disk of {}; it is read once, front to back, "
        "through files beside the shards",
        plan.manifest.split, source_.archive(plan.split).string()));
    return true;
  }

  // Of a source whose samples are read in their order alone.
  bool must_gather(const SplitPlan& plan, std::span<const PackUnit> units,
                   const fs::path& folder) const {
    if (!is_scattered(source_, plan.split, units)) return false;
    const std::string in_order = option_set("order", "source");
    if (is_address(folder)) {
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
    note(fmt::format("{}: read once, front to back, and shuffled through files beside the shards",
                     plan.manifest.split));
    return true;
  }

  static void remove_temporary_files(const fs::path& folder) {
    if (is_address(folder)) {
      for (const std::string& name : names_in_folder(folder).files) {
        if (name.ends_with(".tmp")) remove_file_at(folder / name);
      }
      return;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".tmp") fs::remove(entry.path());
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
  const bool is_of_store = is_address(claimed.folder()) && code == ErrorCode::invalid_argument &&
                           error.context().subject != ErrorSubject::destination &&
                           error.context().path.starts_with(claimed.folder().native() + "/");
  const bool is_of_system = code == ErrorCode::io || code == ErrorCode::cancelled || is_of_store;
  std::string first = remedy_for(error);
  std::string with = option_on("resume");
  if (code == ErrorCode::not_found) {
    // The source is no longer what was listed, and a shorter list would be another conversion.
    first = "bring back what was there";
  } else if (error.context().subject == ErrorSubject::sample && !is_of_system) {
    if (!can_skip) throw Error(error);
    with = option_set("on_error", "skip") + " and " + with;
  } else if (!is_of_system) {
    throw Error(error);  // of what was written, or of the source as a whole: it stays so
  }
  if (conversion.num_shards() == 0) throw Error(error);
  const std::string own = error.context().remedy;
  throw error.with_remedy(fmt::format(
      "{}{}: {}run it again with {} to go on", own.empty() ? "" : own + "; ",
      !num_shards ? "what is finished stays"
      : *num_shards == 0
          ? "the archive has been read and all of it is kept"
          : fmt::format("{} of {} shards are finished", *num_shards, conversion.num_shards()),
      first.empty() ? "" : first + ", then ", with));
}

// The shards of a part in a store are not where its manifest is.
Dataset open_part(const fs::path& destination, const ConvertPart& part, const std::string& split) {
  std::vector<fs::path> files;
  const fs::path folder = folder_of_part(destination, part) / split;
  for (const ManifestShard& shard : read_manifest(folder / "manifest.json").shards) {
    files.push_back(destination / split / shard.file);
  }
  return Dataset::open_files(files);
}

}  // namespace

bool is_in_store(const fs::path& folder) {
  return is_address(folder) && !is_place_on_disk(folder.native());
}

void add_facts(ConvertSummary& summary, const Source& source, const fs::path& destination,
               const ConvertPart& part) {
  summary.headers_only = source.checks_headers_only();
  if (source.totals().empty()) return;
  for (SplitSummary& split : summary.splits) {
    const Dataset written = part.count > 1 && is_address(destination)
                                ? open_part(destination, part, split.split)
                                : Dataset::open(destination / split.split);
    split.totals = column_totals(written, source.totals());
  }
}

ConvertSummary make_data_set(const Source& source, Destination& claimed, const fs::path& place,
                             const ConvertOptions& options) {
  const bool can_skip = options.on_error == OnError::fail && !source.has_record_references();
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
