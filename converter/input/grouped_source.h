// GroupedSource: a source of many files of which only a group is open at a time
// (ConvertOptions::by_files). It lists files; the samples of a group are those of an ordinary
// source, which is made of these files when their turn comes, and thrown away behind it.
//
//   FileListing ──▶ GroupedSource ── open_group() ──▶ Source of some files ──▶ its samples
//                   as a Source: "samples" are files
//
// As a Source it is for planning: a split's samples are its files, with their names, sizes and
// times; they cannot be read. What is said of all samples (fields, classes, facts) is what the
// first group says of its own. Splits that are made of no files, such as a text's tokenizer, come
// behind those of files, and are the first group's.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

#include "converter/input/listed_source.h"

namespace ffkit {

// When a group of files is full.
class GroupSize {
 public:
  // Of small rows, which take about 100 bytes of memory each.
  static constexpr int64_t kMostBytes = 128 << 20;

  explicit GroupSize(const ConvertOptions& options)
      : num_files_(options.by_files.value_or(0)),
        num_bytes_(std::min(options.shard_bytes, kMostBytes)) {}
  int64_t num_bytes() const { return num_bytes_; }
  // Of so many files with so many bytes.
  bool is_full(int64_t num_files, int64_t num_bytes) const {
    return num_files_ > 0 ? num_files >= num_files_ : num_bytes >= num_bytes_;
  }

 private:
  const int64_t num_files_;  // 0: bytes decide
  const int64_t num_bytes_;
};

class GroupedSource final : public ListedSource {
 public:
  // Throws NoSamples where the files hold none.
  using Open = std::function<std::unique_ptr<Source>(const GroupOfFiles&)>;

  // Opens the first group that has samples, in the order of the list. Throws Error(not_found) where
  // none has, and what `open` throws.
  GroupedSource(std::filesystem::path path, FileListing listing, Open open,
                const ConvertOptions& options);

  // How many of splits() are of files.
  size_t num_splits_of_files() const { return listing_.splits.size(); }
  // The source of these files of a split, in their order, with one split of that name; null where
  // they hold no samples. Throws Error(unsupported) where it has other fields or classes than the
  // first group, and what `open` throws. One call at a time.
  std::unique_ptr<Source> open_group(size_t split, std::span<const int64_t> files) const;

  Schema split_schema(size_t split) const override;
  std::map<std::string, std::string> facts(size_t split) const override;
  std::map<std::string, std::string> options() const override { return options_; }
  std::vector<std::string> totals() const override { return totals_; }
  bool checks_headers_only() const override { return checks_headers_only_; }
  std::vector<std::filesystem::path> roots() const override { return roots_; }
  SampleIdentity identity(size_t split, int64_t index) const override;
  std::vector<SourceInput> inputs(size_t split) const override;
  int64_t sample_bytes(size_t split, int64_t index) const override;
  std::string describe(size_t split, int64_t index) const override;
  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override;

 private:
  bool is_of_files(size_t split) const { return split < listing_.splits.size(); }
  // Of `rest_`.
  size_t behind(size_t split) const { return split - listing_.splits.size() + 1; }
  const SourceFile& file(size_t split, int64_t index) const {
    return listing_.splits.at(split).files.at(static_cast<size_t>(index));
  }
  GroupOfFiles group_of(size_t split, std::span<const int64_t> files) const;
  std::unique_ptr<Source> open_first(const GroupSize& size) const;
  void take_over(std::unique_ptr<Source> first);
  void require_same(const Source& source, const GroupOfFiles& group) const;

  const std::filesystem::path path_;
  const FileListing listing_;
  const Open open_;
  const std::unique_ptr<std::any> found_;  // GroupOfFiles::found
  std::map<std::string, std::string> facts_;
  std::map<std::string, std::string> options_;
  std::vector<std::string> totals_;
  std::vector<std::filesystem::path> roots_;
  bool checks_headers_only_ = false;
  std::unique_ptr<Source> rest_;  // the first group's, where it has more splits than one
};

// Throws Error(not_found) for the first of these files that is not, or no longer, as it was listed.
void require_as_listed(std::span<const SourceFile> files);

}  // namespace ffkit
