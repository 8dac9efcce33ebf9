// MadeFiles: a GroupedSource of files that are made up, each with samples that are made up as well;
// nothing lies on the disk. All book-keeping is that of any conversion.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>

#include "input/grouped_source.h"
#include "input/source_error.h"

namespace ffkit::testing {

struct MadeFiles {
  int64_t num_files = 0;
  std::function<int64_t(int64_t file)> num_samples;
  int64_t sample_bytes = 64;
  std::function<bool(int64_t file, int64_t sample)> is_bad = {};
  std::function<void(int64_t file)> on_open = {};         // of the first file of a group
  std::function<int64_t(int64_t file)> extra_bytes = {};  // what another machine sees

  std::unique_ptr<GroupedSource> source(const ConvertOptions& options) const;
};

// The samples of some of them.
class MadeSamples final : public ListedSource {
 public:
  MadeSamples(const MadeFiles& files, const GroupOfFiles& group) : files_(files) {
    int64_t num_samples = 0;
    for (const SourceFile& file : group.files) {
      const std::string stem = file.path.stem().string();
      int64_t number = 0;
      std::from_chars(stem.data() + 2, stem.data() + stem.size(), number);
      numbers_.push_back(number);
      first_.push_back(num_samples);
      num_samples += files.num_samples(number);
    }
    if (files.on_open) files.on_open(numbers_.front());
    if (num_samples == 0) {
      throw NoSamples(source_error(group.files.front().path, ErrorCode::not_found, "is empty"));
    }
    infos_ = {{.name = group.split, .num_samples = num_samples, .is_training = group.is_training}};
    schema_ = {{{"label", FieldType::scalar, DType::i64, true}, {"id", FieldType::string}}};
  }

  int64_t sample_bytes(size_t, int64_t) const override { return files_.sample_bytes; }
  std::string describe(size_t, int64_t index) const override {
    const auto [file, sample] = place_of(index);
    return fmt::format("f-{:06}.made: {}", file, sample);
  }
  void read(size_t, int64_t index, RecordBuilder& record, SampleBuffers& buffers) const override {
    const auto [file, sample] = place_of(index);
    if (files_.is_bad && files_.is_bad(file, sample)) {
      throw Error(ErrorCode::corrupt, "is bad", {.path = describe(0, index)});
    }
    record.set_scalar<int64_t>(0, file * 1'000'000 + sample);
    std::string id = describe(0, index);
    id.resize(std::max(id.size(), static_cast<size_t>(files_.sample_bytes)), '.');
    record.set_string(1, buffers.text(id));
  }

 private:
  std::pair<int64_t, int64_t> place_of(int64_t index) const {
    const auto next = std::ranges::upper_bound(first_, index);
    const auto at = static_cast<size_t>(next - first_.begin()) - 1;
    return {numbers_[at], index - first_[at]};
  }

  const MadeFiles files_;
  std::vector<int64_t> numbers_;
  std::vector<int64_t> first_;
};

inline std::unique_ptr<GroupedSource> MadeFiles::source(const ConvertOptions& options) const {
  FilesOfSplit train{.name = "train", .is_training = true};
  for (int64_t file = 0; file < num_files; ++file) {
    train.files.push_back(
        {.path = fmt::format("made/f-{:06}.made", file),
         .num_bytes = num_samples(file) * sample_bytes + (extra_bytes ? extra_bytes(file) : 0),
         .modified_ns = 1});
  }
  FileListing listing;
  listing.splits.push_back(std::move(train));
  return std::make_unique<GroupedSource>(
      "made", std::move(listing),
      [files = *this](const GroupOfFiles& group) {
        return std::make_unique<MadeSamples>(files, group);
      },
      options);
}

}  // namespace ffkit::testing
