#include "views/run_transform.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "format/make_error.h"

namespace ffkit {
namespace {

using RunOptions = std::map<std::string, std::vector<std::string>>;

RunOptions read_run(const std::filesystem::path& config) {
  std::ifstream in(config);
  if (!in) throw error_at(config, ErrorCode::not_found, "cannot be opened");
  RunOptions options;
  try {
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(in)) {
      options.insert_or_assign(item.name, item.inputs);
    }
  } catch (const CLI::Error& error) {
    throw error_at(config, ErrorCode::invalid_argument, "is no file of options: {}", error.what());
  }
  return options;
}

// The values of an option as the file has them, or those of `otherwise`.
std::vector<std::string> values_of(const RunOptions& options, const std::string& name,
                                   const std::vector<std::string>& otherwise) {
  const auto at = options.find(name);
  const bool is_there = at != options.end() && at->second.size() == otherwise.size();
  return is_there ? at->second : otherwise;
}

bool is_zero(const std::string& number) {
  return number.find_first_not_of("0.") == std::string::npos;
}

// What no record's picture shows: it is of a batch, or of an epoch.
std::vector<std::string> left_out_of(const RunOptions& options, const std::string& size) {
  std::vector<std::string> mixed;
  for (const auto& [option, name] :
       {std::pair{"mixup-alpha", "MixUp"}, {"cutmix-alpha", "CutMix"}}) {
    const std::string alpha = values_of(options, option, {"0"})[0];
    if (!is_zero(alpha)) mixed.push_back(fmt::format("{} ({} = {})", name, option, alpha));
  }
  std::vector<std::string> sentences;
  if (!mixed.empty()) {
    sentences.push_back(
        fmt::format("The run also mixes the pictures of a batch by {}, which is not shown here.",
                    fmt::join(mixed, " or ")));
  }
  const std::string first_size = values_of(options, "progressive-size", {"0"})[0];
  if (!is_zero(first_size)) {
    sentences.push_back(fmt::format(
        "The first epochs of the run have smaller pictures, from {} pixels on. Here all have {}.",
        first_size, size));
  }
  return sentences;
}

}  // namespace

RunTransform transform_of_run(const std::filesystem::path& config) {
  const RunOptions options = read_run(config);
  if (!options.contains("image-size") && !options.contains("crop-scale")) {
    throw error_at(config, ErrorCode::invalid_argument,
                   "has neither image-size nor crop-scale: it is not of a run on pictures with "
                   "labels, whose transforms can be shown");
  }
  const auto size = values_of(options, "image-size", {"224"});
  const auto scale = values_of(options, "crop-scale", {"0.08", "1"});
  const auto filter = values_of(options, "interpolation", {"bilinear"});
  std::string text = fmt::format("RandomResizedCrop({}, scale=({}, {}), interpolation='{}')",
                                 size[0], scale[0], scale[1], filter[0]);
  const auto jitter = values_of(options, "color-jitter", {"0", "0", "0", "0"});
  if (!std::ranges::all_of(jitter, is_zero)) {
    text +=
        fmt::format(", ColorJitter({}, {}, {}, {})", jitter[0], jitter[1], jitter[2], jitter[3]);
  }
  const std::string policy = values_of(options, "auto-augment", {"none"})[0];
  if (policy == "randaugment") {
    text += fmt::format(", RandAugment({}, {})", values_of(options, "randaugment-ops", {"2"})[0],
                        values_of(options, "randaugment-magnitude", {"9"})[0]);
  } else if (policy == "trivialaugment") {
    text += ", TrivialAugmentWide()";
  }
  const std::string erasing = values_of(options, "random-erasing", {"0"})[0];
  if (!is_zero(erasing)) text += fmt::format(", RandomErasing({})", erasing);
  return {std::move(text), left_out_of(options, size[0])};
}

}  // namespace ffkit
