#include "checkpoint/work_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <tuple>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "base/number_text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_parts.h"
#include "checkpoint/weights.h"
#include "data/warning.h"
#include "files/foreign_weights.h"
#include "report/metrics_log.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "epoch-";
constexpr std::string_view kSuffix = ".safetensors";

constexpr std::string_view kSamples = "-samples-";

// Where the name of a checkpoint says that it belongs; nothing for any other name.
std::optional<CheckpointFile> parse_name(const fs::path& path) {
  const std::string text = path.filename().string();
  std::string_view name = text;
  const std::string_view suffix = is_in_parts(path) ? std::string_view(kPartsSuffix) : kSuffix;
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(suffix.size());
  CheckpointFile file{.path = path};
  const size_t samples = name.find(kSamples);
  file.epoch = number_of_text<int64_t>(name.substr(0, samples)).value_or(-1);
  if (samples != std::string_view::npos)
    file.samples = number_of_text<int64_t>(name.substr(samples + kSamples.size())).value_or(-1);
  if (file.epoch < 0 || file.samples < 0) return std::nullopt;
  return file;
}

// Whether it was not there before.
bool make_folder(const fs::path& folder) {
  refuse_dangling_destination(folder);
  std::error_code error;
  const bool is_new = fs::create_directories(folder, error);
  if (!error) return is_new;
  throw io_error_at(folder, "cannot make the work folder", error.value())
      .with_subject(ErrorSubject::destination);
}

}  // namespace

std::vector<CheckpointFile> list_checkpoints(const fs::path& folder) {
  std::vector<CheckpointFile> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (std::optional<CheckpointFile> file = parse_name(it->path()))
      files.push_back(std::move(*file));
  }
  const bool is_none =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (!is_none) require_done(error, folder, "cannot be searched for checkpoints");
  std::sort(files.begin(), files.end(), [](const CheckpointFile& a, const CheckpointFile& b) {
    return std::tie(a.epoch, a.samples) < std::tie(b.epoch, b.samples);
  });
  return files;
}

Say say_on(std::FILE* lines) {
  return [lines](const std::string& sentence) {
    if (lines != nullptr) {
      fmt::print(lines, "{}\n", sentence);
    } else {
      warn_on_stderr(sentence);
    }
  };
}

void ChosenCheckpoint::put_damaged_aside(const Say& say) const {
  for (const fs::path& file : damaged) {
    fs::path aside = fs::path(file) += ".damaged";
    for (int n = 2; fs::exists(aside); ++n) aside = fmt::format("{}.damaged-{}", file.string(), n);
    std::error_code error;
    fs::rename(file, aside, error);
    if (error) say(fmt::format("{}: cannot be renamed: {}", file.string(), error.message()));
  }
}

ChosenCheckpoint newest_whole_checkpoint(const fs::path& folder, const Say& say) {
  ChosenCheckpoint chosen;
  std::vector<CheckpointFile> files = list_checkpoints(folder);
  for (; !files.empty(); files.pop_back()) {
    const fs::path& path = files.back().path;
    try {
      check_checkpoint(path);
      chosen.path = path;
      break;
    } catch (const Error& error) {
      if (!is_damage(error)) throw;
      say(fmt::format("{}; this checkpoint is renamed to *.damaged, and the previous one is used",
                      error.what()));
      chosen.damaged.push_back(path);
    }
  }
  return chosen;
}

namespace {

// The newest of the checkpoints in `folder`, of which there are some, whose metadata are not
// damaged. Throws the newest one's error.
fs::path newest_readable(const fs::path& folder, const Say& say) {
  std::vector<CheckpointFile> files = list_checkpoints(folder);
  std::exception_ptr newest;
  for (; !files.empty(); files.pop_back()) {
    try {
      read_checkpoint_info(files.back().path);
      return files.back().path;
    } catch (const Error& error) {
      if (!is_damage(error)) return files.back().path;  // who reads it says why
      say(fmt::format("{}; the previous checkpoint says which one is the best", error.what()));
      if (!newest) newest = std::current_exception();
    }
  }
  std::rethrow_exception(newest);
}

// Of which work folder `path` means a checkpoint, and whether the best one instead of the newest.
struct RunAsked {
  fs::path folder;
  bool is_best = false;
};

std::optional<RunAsked> run_asked(const fs::path& asked) {
  const fs::path path = asked.has_filename() ? asked : asked.parent_path();  // a slash at its end
  RunAsked run{.folder = path};
  const std::string name = path.filename().string();
  if ((name == "best" || name == "last") && !fs::exists(path)) {
    run = {.folder = path.has_parent_path() ? path.parent_path() : ".", .is_best = name == "best"};
  }
  if (is_in_parts(run.folder) || list_checkpoints(run.folder).empty()) return std::nullopt;
  return run;
}

fs::path best_checkpoint(const fs::path& folder, const Say& say) {
  const int64_t best = read_checkpoint_info(newest_readable(folder, say)).best_epoch;
  for (const CheckpointFile& file : list_checkpoints(folder)) {
    if (file.epoch == best && file.samples == 0) return file.path;
  }
  throw checkpoint_error(
      folder, ErrorCode::not_found,
      best == 0
          ? "the run has no best checkpoint, because no validation of the run has chosen a "
            "checkpoint"
          : fmt::format("the run did not keep its best checkpoint, which is from epoch {}", best));
}

}  // namespace

fs::path resolve_checkpoint(const fs::path& path) {
  const Say silent = [](const std::string&) {};
  if (const std::optional<RunAsked> run = run_asked(path)) {
    return run->is_best ? best_checkpoint(run->folder, silent)
                        : newest_readable(run->folder, silent);
  }
  if (!fs::is_directory(path)) return path;
  // "run/epoch-0001.parts/" too: its work folder is the one that it lies in.
  if (is_in_parts(path)) return path.has_filename() ? path : path.parent_path();
  if (const std::optional<fs::path> weights = weights_in_folder(path)) return *weights;
  refuse_foreign_folder(path);
  throw checkpoint_error(path, ErrorCode::not_found,
                         "the folder contains no checkpoint (epoch-*.safetensors, epoch-*.parts)");
}

ChosenCheckpoint choose_checkpoint(const fs::path& path, const Say& say) {
  const std::optional<RunAsked> run = run_asked(path);
  if (!run || run->is_best) {
    const fs::path file = run ? best_checkpoint(run->folder, say) : resolve_checkpoint(path);
    // Before what it says of its network is taken for true.
    if (!holds_weights_alone(file)) check_checkpoint(file, /*may_have_nan=*/true);
    return {.path = file};
  }
  ChosenCheckpoint chosen = newest_whole_checkpoint(run->folder, say);
  if (!chosen.path.empty()) return chosen;
  throw checkpoint_error(run->folder, ErrorCode::corrupt,
                         "the work folder contains no undamaged checkpoint");
}

WorkDirLock::WorkDirLock(const fs::path& folder) : folder_(folder), is_new_(make_folder(folder)) {
  lock_ = FileLock(open_descriptor(folder, O_RDONLY | O_DIRECTORY));
  if (!lock_.is_open()) return;
  const FolderHold hold = hold_folder(folder, FileLock::Mode::exclusive, lock_, claim_);
  note_ = hold.note;
  if (hold.is_taken) return;
  if (hold.user.is_anybody() && !hold.user.is_here) {
    note_ = fmt::format(
        "{} may be writing to this work folder as well; remove that file when the "
        "process has ended",
        hold.user.words);
    return;
  }
  throw error_at(folder, ErrorCode::invalid_argument,
                 "{} is writing to this work folder; wait until it ends, or give another "
                 "{}",
                 in_use_by(hold.user, "another training"), option_name("work_dir"))
      .with_subject(ErrorSubject::destination);
}

WorkDirLock::~WorkDirLock() {
  claim_.release();
  if (is_new_) ::rmdir(folder_.c_str());  // works on an empty folder alone
}

WorkDir WorkDir::create(const fs::path& folder, bool may_have_metrics) {
  make_folder(folder);
  if (!list_checkpoints(folder).empty() ||
      (!may_have_metrics && fs::exists(folder / kMetricsName))) {
    throw error_at(folder, ErrorCode::invalid_argument,
                   "the work folder already contains a run; continue the run with {}, or give an "
                   "empty folder with {}",
                   option_name("resume"), option_name("work_dir"))
        .with_subject(ErrorSubject::destination);
  }
  remove_unfinished_checkpoints(folder);
  return WorkDir(folder);
}

WorkDir WorkDir::reopen(const fs::path& folder, const fs::path& checkpoint) {
  std::error_code ignored;
  if (!fs::equivalent(folder, checkpoint.parent_path().empty() ? "." : checkpoint.parent_path(),
                      ignored)) {
    return create(folder);
  }
  const std::vector<CheckpointFile> files = list_checkpoints(folder);
  if (!files.empty() && !fs::equivalent(files.back().path, checkpoint, ignored)) {
    throw error_at(folder, ErrorCode::invalid_argument,
                   "the work folder has a later checkpoint, {}; continue from that checkpoint, or "
                   "give an empty folder with {}",
                   files.back().path.filename().string(), option_name("work_dir"))
        .with_subject(ErrorSubject::destination);
  }
  remove_unfinished_checkpoints(folder);
  return WorkDir(folder);
}

fs::path WorkDir::checkpoint_path(int64_t epoch, int64_t samples, bool in_parts) const {
  const std::string within = samples > 0 ? fmt::format("{}{:09}", kSamples, samples) : "";
  return folder_ / fmt::format("{}{:04}{}{}", kPrefix, epoch, within,
                               in_parts ? std::string_view(kPartsSuffix) : kSuffix);
}

void WorkDir::prune(int64_t num_kept, int64_t best_epoch, const fs::path& kept) const {
  if (num_kept == 0) return;
  const std::vector<CheckpointFile> files = list_checkpoints(folder_);
  for (size_t i = 0; i + num_kept < files.size(); ++i) {
    if (files[i].epoch == best_epoch && files[i].samples == 0) continue;
    if (files[i].path == kept) continue;
    remove_checkpoint(files[i].path);
  }
}

void remove_checkpoint(const fs::path& path) {
  if (is_in_parts(path)) {
    remove_parts(path);
    return;
  }
  std::error_code error;
  fs::remove(path, error);
  if (!error) return;
  throw io_error_at(path, "cannot delete an old checkpoint", error.value())
      .with_subject(ErrorSubject::destination);
}

}  // namespace ffkit
