#include "split_conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "input/cancel.h"
#include "input/grouped_source.h"
#include "output/make_shards.h"
#include "output/own_names.h"
#include "output/split_writer.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "storage/writer/file_sink.h"

namespace ffkit {

namespace {

constexpr int64_t kMostDescriptionBytes = 256 << 20;

// The groups of a part of a conversion that are made: what progress says of the others is guessed
// from their bytes.
int64_t guess(int64_t num_samples, int64_t of_bytes, int64_t all_bytes) {
  if (of_bytes <= 0) return num_samples;
  return static_cast<int64_t>(static_cast<double>(num_samples) * static_cast<double>(all_bytes) /
                              static_cast<double>(of_bytes));
}

bool has_digit(std::string_view word) {
  return std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

// Calls use(word) for each word that is not in quotes.
template <typename Use>
void for_words(std::string_view sentence, const Use& use) {
  bool is_quoted = false;
  while (!sentence.empty()) {
    const size_t length = std::min(sentence.find(' '), sentence.size());
    const std::string_view word = sentence.substr(0, length);
    const bool begins_in_quotes = is_quoted;
    is_quoted = is_quoted != (std::ranges::count(word, '\'') % 2 == 1);
    if (!begins_in_quotes && word.find('\'') == std::string_view::npos) use(word);
    sentence.remove_prefix(std::min(length + 1, sentence.size()));
  }
}

// Notes of many groups of files, of which most say the same with other numbers and names. The first
// of a kind is passed on as it is, the others are counted.
class NoteTally {
 public:
  // `note` may be empty, and must outlive this.
  explicit NoteTally(const std::function<void(const std::string&)>& note) : note_(note) {}

  // As if it had been passed on already.
  void know(const std::string& sentence) {
    bool is_new = false;
    seen(sentence, is_new);
  }

  // Of one group.
  void add(const std::string& sentence) {
    bool is_new = false;
    Seen& of_kind = seen(sentence, is_new);
    if (is_new && note_) note_(sentence);
    ++of_kind.num_groups;
    of_kind.has_other_words = of_kind.has_other_words || sentence != of_kind.first;
    of_kind.last = sentence;
  }

  // Passes on of how many groups each was said, where they were several and that is news: it counts
  // something, or has had other words.
  void finish() {
    for (const auto& [kind, seen] : seen_) {
      const bool is_news = seen.has_other_words || (seen.num_groups > 1 && seen.has_numbers);
      if (note_ && is_news) {
        note_(fmt::format("the same or similar for {} {} of files: {}", seen.num_groups,
                          seen.num_groups == 1 ? "group" : "groups", seen.last));
      }
    }
    seen_.clear();
  }

 private:
  struct Seen {
    std::string first;
    std::string last;
    int64_t num_groups = 0;
    bool has_numbers = false;
    bool has_other_words = false;
  };
  Seen& seen(const std::string& sentence, bool& is_new) {
    std::string kind;
    bool has_numbers = false;
    for_words(sentence, [&](std::string_view word) {
      if (word.find('/') != std::string_view::npos) return;
      has_numbers = has_numbers || has_digit(word);
      if (!has_digit(word)) kind += fmt::format("{} ", word);
    });
    const auto [found, is_inserted] = seen_.try_emplace(kind);
    is_new = is_inserted;
    if (is_new) found->second = {.first = sentence, .last = sentence, .has_numbers = has_numbers};
    return found->second;
  }

  const std::function<void(const std::string&)>& note_;
  std::map<std::string, Seen> seen_;  // by the sentence without quotes, paths and numbers
};

}  // namespace

SplitConversion::SplitConversion(const Source& source, const SplitPlan& plan, Destination& claimed,
                                 const fs::path& name, const ConvertOptions& options)
    : source_(source),
      plan_(plan),
      claimed_(claimed),
      name_(name),
      options_(options),
      folder_(claimed.folder() / plan.manifest.split),
      shards_folder_(claimed.shards_folder(plan.manifest.split)) {}

SplitSummary SplitConversion::make(ReportFile& report) {
  if (plan_.is_of_files) {
    make_groups();
  } else {
    add(make_task(source_, plan_, [this](const std::string& sentence) { note(sentence); }));
  }
  Manifest manifest = plan_.finished(std::move(done_.manifest.shards), options_);
  require_records(manifest);
  claimed_.require_held();
  write_manifest(folder_ / kManifestFile, manifest);
  for (const int64_t shard : done_.reports) report.add(read_report(folder_ / report_name(shard)));
  return summary_of(manifest, done_.num_samples - manifest.num_records());
}

void SplitConversion::make_groups() {
  const GroupedSource& source = *as_grouped(source_);
  NoteTally notes(options_.note);
  for (const std::string& sentence : source.notes()) notes.know(sentence);
  const int64_t num_groups = plan_.end_shard - plan_.begin_shard;
  std::vector<std::optional<TaskDescription>> found(static_cast<size_t>(num_groups));
  int64_t num_found = 0;
  if (claimed_.goes_on()) {
    const FilesThere there = files_there(shards_folder_);
    for (int64_t i = 0; i < num_groups; ++i) {
      auto& group = found[static_cast<size_t>(i)];
      group = found_group(plan_.begin_shard + i, there);
      if (!group) continue;
      ++num_found;
      num_taken_over_ += group->num_samples;
    }
  }
  if (num_found > 0) {
    note(fmt::format("{}: {} of {} groups of files are finished; continuing", plan_.manifest.split,
                     num_found, num_groups));
  }
  const Note note_of_group = [&](const std::string& sentence) {
    notes.add(fmt::format("{}: {}", Place(name_).shown(), sentence));
  };
  for (int64_t i = 0; i < num_groups; ++i) {
    throw_if_cancelled(options_.cancel);
    auto& group = found[static_cast<size_t>(i)];
    const int64_t number = plan_.begin_shard + i;
    if (!group) {
      const auto samples = source.open_group(plan_.split, plan_.samples(number));
      if (samples) {
        for (const std::string& sentence : samples->notes()) notes.add(sentence);
      }
      group = make_group(samples.get(), number, note_of_group);
    }
    add(*std::exchange(group, std::nullopt));
    bytes_done_ += plan_.bytes_of(number);
  }
  notes.finish();
}

TaskDescription SplitConversion::make_group(const Source* samples, int64_t group,
                                            const Note& note) {
  TaskDescription done;
  if (samples != nullptr) {
    ConvertOptions options = options_;
    options.note = note;
    const SplitPlan plan = plan_group(*samples, plan_, group, options);
    done = make_task(*samples, plan, note);
    const fs::path folder = Place(folder_).path_on_disk();
    if (!Place(folder).is_in_store()) remove_gathered(folder, plan.units());
  }
  done.is_of_group = true;
  done.manifest.split = plan_.manifest.split;
  done.manifest.schema = plan_.manifest.schema;
  claimed_.require_held();
  write_text_at(folder_ / group_name(group * kShardsOfGroup), to_text(done));
  return done;
}

TaskDescription SplitConversion::make_task(const Source& source, const SplitPlan& plan,
                                           const Note& note) {
  SplitWriter writer(source, plan, shards_folder_, folder_, [this] { claimed_.require_held(); });
  std::vector<PackUnit> units;
  int64_t num_before = 0;
  for (const PackUnit& unit : plan.units()) {
    if (writer.take_over(unit.number)) {
      num_before += std::ssize(unit.samples);
    } else {
      units.push_back(unit);
    }
  }
  // Of a group, it is the group that was gone on with.
  if (writer.num_finished() > 0 && !plan_.is_of_files) {
    note(fmt::format("{}: {} of {} shards are finished; continuing", plan.manifest.split,
                     writer.num_finished(), plan.end_shard - plan.begin_shard));
  }
  ConvertOptions options = options_;
  options.note = note;
  make_shards(source, plan, units, Place(folder_).path_on_disk(), options, writer,
              progress_of(source, plan, num_before));
  TaskDescription done{.num_samples = plan.num_samples()};
  done.manifest.shards = writer.finish();
  done.reports = writer.reports();
  return done;
}

std::optional<TaskDescription> SplitConversion::found_group(int64_t group,
                                                            const FilesThere& shards) const {
  const fs::path path = folder_ / group_name(group * kShardsOfGroup);
  if (!is_file_at(path)) return std::nullopt;
  try {
    TaskDescription found = parse_task_description(read_text_at(path, kMostDescriptionBytes));
    if (found.is_of_group && are_there(found.manifest.shards, shards)) return found;
  } catch (const Error& error) {
    // Where it was cut, the group is opened again.
    if (error.code() == ErrorCode::io) throw;
  }
  return std::nullopt;
}

void SplitConversion::add(TaskDescription task) {
  std::ranges::move(task.manifest.shards, std::back_inserter(done_.manifest.shards));
  std::ranges::move(task.reports, std::back_inserter(done_.reports));
  done_.num_samples += task.num_samples;
}

void SplitConversion::note(const std::string& sentence) const {
  if (options_.note) options_.note(fmt::format("{}: {}", Place(name_).shown(), sentence));
}

// Progress of the split in the user's terms.
std::function<void(const PackProgress&)> SplitConversion::progress_of(const Source& source,
                                                                      const SplitPlan& plan,
                                                                      int64_t num_before) const {
  if (!options_.progress) return {};
  int64_t num_samples = plan.num_samples();
  if (plan_.is_of_files) {
    num_samples =
        guess(done_.num_samples + num_samples,
              bytes_done_ + plan_.bytes_of(plan.base / kShardsOfGroup), plan_.estimated_bytes());
  }
  return [this, num_samples, num_before, noun = record_noun(source)](const PackProgress& progress) {
    options_.progress({.split = plan_.manifest.split,
                       .num_samples = num_samples,
                       .num_done = done_.num_samples + num_before + progress.num_done,
                       .num_before = num_taken_over_ + num_before,
                       .num_skipped = progress.num_skipped,
                       .bytes_done = progress.record_bytes,
                       .records = noun});
  };
}

void SplitConversion::require_records(const Manifest& manifest) const {
  if (!manifest.shards.empty()) return;
  throw Error(ErrorCode::corrupt,
              fmt::format("split '{}': none of the {} {} could be read; look at the first one, {}",
                          plan_.manifest.split, done_.num_samples, record_noun(source_),
                          source_.describe(plan_.split, plan_.order.front())),
              {.subject = ErrorSubject::source});
}

}  // namespace ffkit
