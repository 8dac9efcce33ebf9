#include "input/grouped_source.h"

#include <stdexcept>

#include <ffkit/base/option_names.h>

#include "base/printable.h"
#include "input/input_file.h"
#include "input/source_error.h"
#include "places/brace_list.h"
#include "places/place.h"

namespace ffkit {
namespace {

// "the files 'a.jsonl' to 'c.jsonl'".
std::string words_of_group(const std::vector<SourceFile>& files) {
  const auto name = [](const SourceFile& file) { return file.path.filename().string(); };
  if (files.size() == 1) return fmt::format("the file '{}'", name(files.front()));
  return fmt::format("the {} files '{}' to '{}'", files.size(), name(files.front()),
                     name(files.back()));
}

}  // namespace

GroupedSource::GroupedSource(fs::path path, FileListing listing, Open open,
                             const ConvertOptions& options)
    : path_(std::move(path)),
      listing_(std::move(listing)),
      open_(std::move(open)),
      found_(std::make_unique<std::any>(listing_.found)) {
  notes_ = listing_.notes;
  for (const FilesOfSplit& split : listing_.splits) {
    SourceSplit info{.name = split.name,
                     .num_samples = std::ssize(split.files),
                     .is_training = split.is_training};
    for (const SourceFile& file : split.files) info.num_bytes += file.num_bytes;
    infos_.push_back(std::move(info));
  }
  take_over(open_first(GroupSize(options)));
  const bool is_shuffled =
      options.order == Order::shuffle && std::ranges::any_of(infos_, &SourceSplit::is_training);
  add_note(notes_, shown_place(path_),
           "its files are converted in groups of {}, one group after the other; the first "
           "files determine the fields{}",
           *options.by_files > 0
               ? std::to_string(*options.by_files)
               : fmt::format("about {} MB", GroupSize(options).num_bytes() / 1'000'000),
           is_shuffled ? "; the files are shuffled, and the samples within each group" : "");
}

GroupOfFiles GroupedSource::group_of(size_t split, std::span<const int64_t> files) const {
  const FilesOfSplit& from = listing_.splits.at(split);
  GroupOfFiles group{.split = from.name, .is_training = from.is_training, .found = found_.get()};
  group.files.reserve(files.size());
  for (const int64_t index : files) group.files.push_back(file(split, index));
  return group;
}

std::unique_ptr<Source> GroupedSource::open_first(const GroupSize& size) const {
  for (size_t split = 0; split < listing_.splits.size(); ++split) {
    std::vector<int64_t> files;
    int64_t num_bytes = 0;
    for (int64_t index = 0; index < infos_[split].num_samples; ++index) {
      files.push_back(index);
      num_bytes += file(split, index).num_bytes;
      const bool is_last = index + 1 == infos_[split].num_samples;
      if (!is_last && !size.is_full(std::ssize(files), num_bytes)) continue;
      try {
        return open_(group_of(split, files));
      } catch (const NoSamples&) {
        files.clear();
        num_bytes = 0;
      }
    }
  }
  throw source_error(path_, ErrorCode::not_found, "no file contains a sample");
}

void GroupedSource::take_over(std::unique_ptr<Source> first) {
  schema_ = first->split_schema(0);
  classes_ = first->classes();
  class_names_ = first->class_names();
  class_ids_ = first->class_ids();
  facts_ = first->facts(0);
  options_ = first->options();
  totals_ = first->totals();
  roots_ = first->roots();
  checks_headers_only_ = first->checks_headers_only();
  notes_.insert(notes_.end(), first->notes().begin(), first->notes().end());
  const std::vector<SourceSplit>& splits = first->splits();
  if (splits.size() == 1) return;
  infos_.insert(infos_.end(), splits.begin() + 1, splits.end());
  rest_ = std::move(first);
}

std::unique_ptr<Source> GroupedSource::open_group(size_t split,
                                                  std::span<const int64_t> files) const {
  const GroupOfFiles group = group_of(split, files);
  try {
    std::unique_ptr<Source> source = open_(group);
    require_same(*source, group);
    return source;
  } catch (const NoSamples&) {
    return nullptr;
  }
}

void GroupedSource::require_same(const Source& source, const GroupOfFiles& group) const {
  std::string difference = source.split_schema(0).difference(schema_);
  if (difference.empty() && (source.classes() != classes_ || source.class_names() != class_names_ ||
                             source.class_ids() != class_ids_)) {
    difference = "the classes are different";
  }
  if (difference.empty()) return;
  throw source_error(
      path_, ErrorCode::unsupported,
      "{} do not match the first files: {}; convert without {}, or convert them separately",
      words_of_group(group.files), difference, option_name("by_files"));
}

Schema GroupedSource::split_schema(size_t split) const {
  return is_of_files(split) ? schema_ : rest_->split_schema(behind(split));
}

std::map<std::string, std::string> GroupedSource::facts(size_t split) const {
  if (!is_of_files(split)) return rest_->facts(behind(split));
  std::map<std::string, std::string> facts = facts_;
  // Those of the first group have counted its own.
  for (const char* count : {"files", "shards"}) {
    const auto found = facts.find(count);
    if (found != facts.end()) found->second = std::to_string(infos_[split].num_samples);
  }
  return facts;
}

SampleIdentity GroupedSource::identity(size_t split, int64_t index) const {
  if (!is_of_files(split)) return rest_->identity(behind(split), index);
  const SourceFile& listed = file(split, index);
  return {.name = name_below(path_, listed.path),
          .num_bytes = listed.num_bytes,
          .modified = static_cast<uint64_t>(listed.modified_ns)};
}

std::vector<SourceInput> GroupedSource::inputs(size_t split) const {
  return is_of_files(split) ? std::vector<SourceInput>() : rest_->inputs(behind(split));
}

int64_t GroupedSource::sample_bytes(size_t split, int64_t index) const {
  return is_of_files(split) ? file(split, index).num_bytes
                            : rest_->sample_bytes(behind(split), index);
}

std::string GroupedSource::describe(size_t split, int64_t index) const {
  return is_of_files(split) ? without_marks(shown_place(file(split, index).path))
                            : rest_->describe(behind(split), index);
}

void GroupedSource::read(size_t split, int64_t index, RecordBuilder& record,
                         SampleBuffers& buffers) const {
  if (is_of_files(split)) throw std::logic_error("a file of a GroupedSource is not a sample");
  rest_->read(behind(split), index, record, buffers);
}

void require_as_listed(std::span<const SourceFile> files) {
  for (const SourceFile& listed : files) {
    std::error_code missing;
    const FileStamp stamp = stamp_of(listed.path, missing);
    if (!missing && stamp == FileStamp{listed.num_bytes, listed.modified_ns}) continue;
    throw source_error(listed.path, ErrorCode::not_found,
                       missing ? "the file was removed after ffkit listed it"
                               : "the file was changed after ffkit listed it, so the data set "
                                 "would contain old and new files");
  }
}

}  // namespace ffkit
