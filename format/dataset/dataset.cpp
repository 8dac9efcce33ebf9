#include <fmt/format.h>

#include <algorithm>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>

#include "dataset/dataset_files.h"
#include "errors_only.h"
#include "fnv.h"

namespace ffkit {

struct Dataset::Impl {
  explicit Impl(DatasetFiles opened)
      : files(std::move(opened)), fingerprint(files.manifest.fingerprint()) {
    first_record.push_back(0);
    for (const ShardReader& shard : files.shards) {
      first_record.push_back(first_record.back() + shard.num_records());
    }
  }

  DatasetFiles files;
  std::vector<int64_t> first_record;  // of each shard, and the total at the end
  std::string fingerprint;
};

struct Dataset::Choice {
  std::vector<int64_t> records;  // numbers in the split
  std::string fingerprint;
};

Dataset::Dataset(std::shared_ptr<const Impl> impl, std::shared_ptr<const Choice> choice)
    : impl_(std::move(impl)), choice_(std::move(choice)) {}

Dataset Dataset::open(const std::filesystem::path& path, const std::string& split,
                      const ShardReaderOptions& options) {
  return errors_only(path, [&]() -> Dataset {
    return {std::make_shared<const Impl>(open_dataset_files(path, split, options)), nullptr};
  });
}

Dataset Dataset::open_files(const std::vector<std::filesystem::path>& files,
                            const ShardReaderOptions& options) {
  return errors_only(files.empty() ? "" : files.front(), [&]() -> Dataset {
    return {std::make_shared<const Impl>(open_listed_files(files, options)), nullptr};
  });
}

const std::filesystem::path& Dataset::path() const {
  return impl_->files.path;
}
const Manifest& Dataset::manifest() const {
  return impl_->files.manifest;
}
const Schema& Dataset::schema() const {
  return impl_->files.manifest.schema;
}
int Dataset::format_version() const {
  return impl_->files.shards.empty() ? 2 : impl_->files.shards.front().facts().version;
}
const std::vector<std::string>& Dataset::warnings() const {
  return impl_->files.warnings;
}
int64_t Dataset::num_records() const {
  return is_subset() ? static_cast<int64_t>(choice_->records.size()) : impl_->first_record.back();
}
int64_t Dataset::num_shards() const {
  return static_cast<int64_t>(impl_->files.shards.size());
}
const ShardReader& Dataset::shard(int64_t shard_index) const {
  if (shard_index < 0 || shard_index >= num_shards()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no shard {}; the split has {}", shard_index, num_shards()),
                {.path = path().string()});
  }
  return impl_->files.shards[static_cast<size_t>(shard_index)];
}
const std::string& Dataset::fingerprint() const {
  return is_subset() ? choice_->fingerprint : impl_->fingerprint;
}
bool Dataset::is_subset() const {
  return choice_ != nullptr;
}

Dataset Dataset::whole_split() const {
  return {impl_, nullptr};
}

int64_t Dataset::index_in_split(int64_t record_index) const {
  if (record_index < 0 || record_index >= num_records()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no record {}; the {} has {}", record_index,
                            is_subset() ? "subset" : "split", num_records()),
                {.path = path().string()});
  }
  return is_subset() ? choice_->records[static_cast<size_t>(record_index)] : record_index;
}

Dataset Dataset::subset(const std::vector<int64_t>& record_indices) const {
  auto choice = std::make_shared<Choice>();
  errors_only(path(), [&] { choice->records.reserve(record_indices.size()); });
  for (const int64_t index : record_indices) choice->records.push_back(index_in_split(index));
  const auto basis = std::as_bytes(std::span(impl_->fingerprint));
  const auto records = std::as_bytes(std::span(choice->records));
  choice->fingerprint = fmt::format("{:016x}", fnv1a64(records, fnv1a64(basis)));
  return {impl_, std::move(choice)};
}

Dataset Dataset::where(const Filter& filter) const {
  return errors_only(path(), [&] { return filtered(filter); });
}

Dataset Dataset::filtered(const Filter& filter) const {
  // Memory is taken for the records of a shard whose columns could be read: a sparse file may claim any number.
  std::vector<bool> matches;
  for (const ShardReader& shard : impl_->files.shards) {
    const size_t first = matches.size();
    const auto found = matching_records(shard, filter);
    matches.resize(first + static_cast<size_t>(shard.num_records()));
    for (const int64_t record : found) matches[first + static_cast<size_t>(record)] = true;
  }
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < num_records(); ++i) {
    if (matches[static_cast<size_t>(index_in_split(i))]) kept.push_back(i);
  }
  return subset(kept);
}

std::pair<size_t, int64_t> Dataset::find(int64_t record_index) const {
  const int64_t index = index_in_split(record_index);
  const auto& firsts = impl_->first_record;
  const auto shard_index = std::ranges::upper_bound(firsts, index) - firsts.begin() - 1;
  return {static_cast<size_t>(shard_index), index - firsts[static_cast<size_t>(shard_index)]};
}

Dataset::Location Dataset::locate(int64_t record_index) const {
  const auto [shard_index, local_index] = find(record_index);
  return {.shard_index = static_cast<int64_t>(shard_index),
          .local_index = local_index,
          .record = impl_->files.shards[shard_index].locate(local_index)};
}

RecordName Dataset::name(int64_t record_index) const {
  const auto [shard_index, local_index] = find(record_index);
  return {&impl_->files.shards[shard_index].path(), local_index};
}

void Dataset::read(int64_t record_index, std::vector<std::byte>& out) const {
  const auto [shard_index, local_index] = find(record_index);
  impl_->files.shards[shard_index].read(local_index, out);
}

bool Dataset::read_field(int64_t record_index, size_t field, std::vector<std::byte>& out) const {
  const auto [shard_index, local_index] = find(record_index);
  return impl_->files.shards[shard_index].read_field(local_index, field, out);
}

template <typename T>
std::vector<T> Dataset::column(std::vector<T> (ShardReader::*read_column)(const std::string&) const,
                               const std::string& field) const {
  return errors_only(path(), [&] { return joined(read_column, field); });
}

template <typename T>
std::vector<T> Dataset::joined(std::vector<T> (ShardReader::*read_column)(const std::string&) const,
                               const std::string& field) const {
  std::vector<T> all;  // grows by what was read: a sparse file may claim any number of records
  for (const ShardReader& shard : impl_->files.shards) {
    std::vector<T> part = (shard.*read_column)(field);
    if (all.empty()) {
      all = std::move(part);
    } else {
      std::ranges::move(part, std::back_inserter(all));
    }
  }
  if (!is_subset()) return all;
  std::vector<T> chosen;
  chosen.reserve(choice_->records.size());
  for (const int64_t record : choice_->records) chosen.push_back(all[static_cast<size_t>(record)]);
  return chosen;
}

std::vector<int64_t> Dataset::int_column(const std::string& field) const {
  return column(&ShardReader::int_column, field);
}
std::vector<double> Dataset::float_column(const std::string& field) const {
  return column(&ShardReader::float_column, field);
}
std::vector<std::string> Dataset::string_column(const std::string& field) const {
  return column(&ShardReader::string_column, field);
}

}  // namespace ffkit
