#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>

#include <ffkit/trainer/batch_source.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using Misfit = std::string (*)(const Schema&);

// The first of `names` that the folder has; none: there is none.
std::optional<std::string> split_in(const fs::path& folder, const std::vector<std::string>& names) {
  const auto found =
      std::ranges::find_if(names, [&](const std::string& name) { return has_split(folder, name); });
  if (found == names.end()) return std::nullopt;
  return *found;
}

// Where the folder has none of the splits, the error lists those that it has.
Dataset open_fitting(const TrainOptions& options, const fs::path& folder,
                     const std::vector<std::string>& names, Misfit misfit) {
  Dataset split = Dataset::open(folder, split_in(folder, names).value_or(names.front()),
                                {.max_record_bytes = options.max_record_bytes});
  const std::string reason = misfit(split.schema());
  if (!reason.empty()) {
    throw dataset_error(split.path(), ErrorCode::invalid_argument, reason);
  }
  return split;
}

// Folders may lack the split as long as one has it; a folder that is not there is a mistake.
Dataset open_all(const TrainOptions& options, const std::vector<std::string>& names, Misfit misfit,
                 bool may_lack_split) {
  const auto open = [&](const fs::path& folder) {
    return open_fitting(options, folder, names, misfit);
  };
  if (!options.data.are_several()) return open(options.data.only());
  std::vector<Dataset> splits;
  for (const DataFolder& folder : options.data.folders()) {
    std::error_code error;
    const bool is_there = !is_local(folder.path) || fs::is_directory(folder.path, error);
    if (may_lack_split && is_there && !split_in(folder.path, names)) continue;
    splits.push_back(open(folder.path));
  }
  return splits.empty() ? open(options.data.folders().front().path) : Dataset::chain(splits);
}

Mixture mixture_of_sizes(const TrainOptions& options, const Dataset& train) {
  return {.num_records = train.source_sizes(), .weights = options.data.weights()};
}

}  // namespace

Dataset open_mixed_split(const TrainOptions& options, const std::vector<std::string>& names,
                         Misfit misfit) {
  return open_all(options, names, misfit, /*may_lack_split=*/false);
}

Dataset open_mixed_validation(const TrainOptions& options, const std::vector<std::string>& names,
                              Misfit misfit) {
  return open_all(options, names, misfit, /*may_lack_split=*/true);
}

std::optional<Mixture> training_mixture(const TrainOptions& options) {
  if (!options.data.are_several()) return std::nullopt;
  return Mixture{.weights = options.data.weights()};
}

void require_a_step(const TrainOptions& options, const Dataset& train) {
  int64_t num_samples = train.num_records();
  if (options.data.are_several()) {
    const std::vector<int64_t> counts = mixture_counts(mixture_of_sizes(options, train));
    num_samples = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  }
  if (num_samples >= options.global_batch_size) return;
  throw dataset_error(train.path(), ErrorCode::invalid_argument,
                      "{} has {} {}, fewer than one step of {}; give a smaller --batch-size",
                      options.data.are_several() ? "an epoch" : "the split", num_samples,
                      options.data.are_several() ? "samples" : "records",
                      options.global_batch_size);
}

std::vector<std::string> mixture_notes(const TrainOptions& options, const Dataset& train,
                                       const Dataset* val) {
  std::vector<std::string> notes;
  if (!options.data.are_several()) return notes;
  const std::vector<int64_t> sizes = train.source_sizes();
  const std::vector<int64_t> counts = mixture_counts(mixture_of_sizes(options, train));
  const auto sum = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  for (size_t i = 0; i < counts.size(); ++i) {
    notes.push_back(fmt::format("{}: {:.1f} % of an epoch, {} samples of {} records",
                                train.source(static_cast<int64_t>(i)).path().string(),
                                100 * static_cast<double>(counts[i]) / sum, counts[i], sizes[i]));
  }
  for (int64_t i = 0; val != nullptr && i < val->num_sources(); ++i) {
    const Dataset source = val->source(i);
    notes.push_back(
        fmt::format("{}: validated, {} records", source.path().string(), source.num_records()));
  }
  return notes;
}

}  // namespace ffkit
