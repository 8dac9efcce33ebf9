#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include <ffkit/format/dataset.h>

#include "base/fnv.h"
#include "base/make_error.h"
#include "dataset/dataset_files.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_source(const Dataset& source, const std::string& message) {
  throw dataset_error(source.path(), ErrorCode::invalid_argument, message);
}

Field without_column(Field field) {
  field.column = false;
  return field;
}

// Adds what `source` has to `joined`, whose fields are from `origins`.
void add_fields(const Dataset& source, Schema& joined, std::vector<const Dataset*>& origins) {
  for (const Field& field : source.schema().fields) {
    const int known = joined.index_of(field.name);
    if (known < 0) {
      joined.fields.push_back(field);
      origins.push_back(&source);
      continue;
    }
    const auto at = static_cast<size_t>(known);
    const std::string own = describe(without_column(field));
    const std::string other = describe(without_column(joined.fields[at]));
    if (own != other) {
      refuse_source(source, fmt::format("its field is {}, but {} in {}, so their records cannot be "
                                        "mixed; convert one of them with another name or type",
                                        own, other, origins[at]->path().string()));
    }
    joined.fields[at].column = joined.fields[at].column && field.column;
  }
}

std::optional<FieldMapping> mapping_of(const Schema& stored, const Schema& joined) {
  FieldMapping mapping{.stored = stored, .positions = {}};
  bool is_same = stored.fields.size() == joined.fields.size();
  for (size_t i = 0; i < joined.fields.size(); ++i) {
    const int position = stored.index_of(joined.fields[i].name);
    mapping.positions.push_back(position);
    is_same = is_same && position == static_cast<int>(i);
  }
  if (is_same) return std::nullopt;
  return mapping;
}

void require_same_classes(const Dataset& source, const Dataset& first) {
  const std::vector<std::string>& own = source.manifest().classes;
  const std::vector<std::string>& others = first.manifest().classes;
  const std::string of_first = first.path().string();
  if (own == others) {
    const std::vector<ClassId>& ids = source.manifest().class_ids;
    const std::vector<ClassId>& other_ids = first.manifest().class_ids;
    if (ids.empty() || other_ids.empty() || ids == other_ids) return;
    const auto place = std::ranges::mismatch(ids, other_ids).in1 - ids.begin();
    const auto number = static_cast<size_t>(place);
    refuse_source(
        source,
        fmt::format("the class '{}' has the id {} in this data set, but the id {} in {}, so one id "
                    "would mean two classes; convert both data sets with the same ids",
                    own[number], to_string(ids[number]), to_string(other_ids[number]), of_first));
  }
  constexpr const char* kRemedy =
      "one label would mean two classes; convert both data sets with the same list of classes";
  if (own.size() != others.size()) {
    refuse_source(source, fmt::format("this data set has {} classes, but {} has {} classes, so {}",
                                      own.size(), of_first, others.size(), kRemedy));
  }
  const auto at = std::ranges::mismatch(own, others).in1 - own.begin();
  refuse_source(source, fmt::format("its class {} is '{}', but '{}' in {}, so {}", at,
                                    own[static_cast<size_t>(at)], others[static_cast<size_t>(at)],
                                    of_first, kRemedy));
}

// Leaves in `facts` those that `others` have too, with the same values.
void keep_common(std::map<std::string, std::string>& facts,
                 const std::map<std::string, std::string>& others) {
  std::erase_if(facts, [&](const auto& fact) {
    const auto found = others.find(fact.first);
    return found == others.end() || found->second != fact.second;
  });
}

// Begins with a word, so that it is not the fingerprint of one split with the shards of all.
std::string fingerprint_of(const std::vector<Dataset>& sources) {
  uint64_t hash = fnv1a64(std::as_bytes(std::span(std::string_view("chain"))));
  for (const Dataset& source : sources) {
    hash = fnv1a64(std::as_bytes(std::span(source.fingerprint())), hash);
  }
  return fmt::format("{:016x}", hash);
}

// What several splits are as one.
struct JoinedSplits {
  Manifest manifest;
  // Of each source; none: its records have the manifest's schema.
  std::vector<std::optional<FieldMapping>> mappings;
  std::vector<std::string> warnings;
  std::string fingerprint;
};

// `sources` are whole splits. Throws as Dataset::chain().
JoinedSplits join_splits(const std::vector<Dataset>& sources) {
  const Dataset& first = sources.front();
  JoinedSplits chain{.manifest = first.manifest(),
                     .mappings = {},
                     .warnings = first.warnings(),
                     .fingerprint = fingerprint_of(sources)};
  Manifest& joined = chain.manifest;
  std::vector<const Dataset*> origins(joined.schema.fields.size(), &first);
  for (const Dataset& source : std::span(sources).subspan(1)) {
    const Manifest& own = source.manifest();
    require_same_classes(source, first);
    add_fields(source, joined.schema, origins);
    if (own.split != joined.split) joined.split += "+" + own.split;
    if (joined.class_names.empty()) joined.class_names = own.class_names;
    if (joined.class_ids.empty()) joined.class_ids = own.class_ids;
    joined.shards.insert(joined.shards.end(), own.shards.begin(), own.shards.end());
    keep_common(joined.source, own.source);
    keep_common(joined.options, own.options);
    for (const std::string& warning : source.warnings()) {
      if (std::ranges::find(chain.warnings, warning) == chain.warnings.end())
        chain.warnings.push_back(warning);
    }
  }
  for (const Dataset& source : sources) {
    chain.mappings.push_back(mapping_of(source.schema(), joined.schema));
  }
  return chain;
}

}  // namespace

struct Dataset::Impl {
  explicit Impl(DatasetFiles opened)
      : files(std::move(opened)), fingerprint(files.manifest.fingerprint()) {
    for (const ShardReader& shard : files.shards) add_shard(shard);
  }
  // Of a chain of these, which are whole splits.
  explicit Impl(std::vector<Dataset> splits) : sources(std::move(splits)) {
    JoinedSplits chain = join_splits(sources);
    files.path = sources.front().path();
    files.manifest = std::move(chain.manifest);
    files.warnings = std::move(chain.warnings);
    fingerprint = std::move(chain.fingerprint);
    mappings = std::move(chain.mappings);
    for (const Dataset& source : sources) {
      source_first.push_back(first_record.back());
      for (const ShardReader* shard : source.impl_->shards) add_shard(*shard);
      source_of_shard.resize(shards.size(), source_first.size() - 1);
    }
  }

  DatasetFiles files;                       // of a chain, without shards
  std::vector<const ShardReader*> shards;   // those of `files`, or of all sources
  std::vector<int64_t> first_record = {0};  // of each shard, and the total at the end
  std::string fingerprint;

  // Of a chain; empty otherwise.
  std::vector<Dataset> sources;
  std::vector<int64_t> source_first;  // first record of each source
  std::vector<size_t> source_of_shard;
  std::vector<std::optional<FieldMapping>> mappings;  // of each source

  bool is_chain() const { return !sources.empty(); }
  // Of a record of the whole split.
  size_t source_of(int64_t record) const {
    return static_cast<size_t>(std::ranges::upper_bound(source_first, record) -
                               source_first.begin() - 1);
  }
  const FieldMapping* mapping(size_t source) const {
    return mappings[source] ? &*mappings[source] : nullptr;
  }

 private:
  void add_shard(const ShardReader& shard) {
    shards.push_back(&shard);
    first_record.push_back(first_record.back() + shard.num_records());
  }
};

struct Dataset::Place {
  size_t shard_index;
  int64_t local_index;
  const ShardReader& shard;
  const FieldMapping* mapping;  // as field_mapping()
};

struct Dataset::Choice {
  std::vector<int64_t> records;  // numbers in the split
  std::string fingerprint;
};

Dataset::Dataset(std::shared_ptr<const Impl> impl, std::shared_ptr<const Choice> choice)
    : impl_(std::move(impl)), choice_(std::move(choice)) {}

Dataset Dataset::open(const std::filesystem::path& path, const std::string& split,
                      const ShardReaderOptions& options) {
  return errors_only(kept_path(path), [&]() -> Dataset {
    return {std::make_shared<const Impl>(open_dataset_files(path, split, options)), nullptr};
  });
}

Dataset Dataset::open_files(const std::vector<std::filesystem::path>& files,
                            const ShardReaderOptions& options) {
  std::vector<std::filesystem::path> kept = files;
  for (std::filesystem::path& file : kept) file = kept_path(file);
  return errors_only(kept.empty() ? "" : kept.front(), [&]() -> Dataset {
    return {std::make_shared<const Impl>(open_listed_files(kept, options)), nullptr};
  });
}

Dataset Dataset::chain(const std::vector<Dataset>& sources) {
  return errors_only(sources.empty() ? "" : sources.front().path(), [&]() -> Dataset {
    if (sources.empty()) {
      throw Error(ErrorCode::invalid_argument, "a chain needs at least one data set");
    }
    if (sources.size() == 1) return sources.front();
    std::vector<Dataset> splits;
    std::vector<int64_t> chosen;
    const bool has_subset = std::ranges::any_of(sources, &Dataset::is_subset);
    int64_t first = 0;
    for (const Dataset& part : sources) {
      for (int64_t i = 0; i < part.num_sources(); ++i) splits.push_back(part.source(i));
      for (int64_t i = 0; has_subset && i < part.num_records(); ++i) {
        chosen.push_back(first + part.index_in_split(i));
      }
      first += part.impl_->first_record.back();
    }
    Dataset all(std::make_shared<const Impl>(std::move(splits)), nullptr);
    return has_subset ? all.subset(chosen) : all;
  });
}

const std::filesystem::path& Dataset::path() const noexcept {
  return impl_->files.path;
}
const Manifest& Dataset::manifest() const noexcept {
  return impl_->files.manifest;
}
const Schema& Dataset::schema() const noexcept {
  return impl_->files.manifest.schema;
}
int Dataset::format_version() const {
  return impl_->is_chain() ? impl_->sources.front().format_version() : impl_->files.format_version;
}
const std::vector<std::string>& Dataset::warnings() const noexcept {
  return impl_->files.warnings;
}
int64_t Dataset::num_records() const noexcept {
  return is_subset() ? std::ssize(choice_->records) : impl_->first_record.back();
}
int64_t Dataset::num_shards() const noexcept {
  return std::ssize(impl_->shards);
}
const ShardReader& Dataset::shard(int64_t shard_index) const {
  if (shard_index < 0 || shard_index >= num_shards()) {
    throw error_at(path(), ErrorCode::invalid_argument,
                   "there is no shard {}; the split has {} shards, and the first is shard 0",
                   shard_index, num_shards());
  }
  return *impl_->shards[static_cast<size_t>(shard_index)];
}
const std::string& Dataset::fingerprint() const noexcept {
  return is_subset() ? choice_->fingerprint : impl_->fingerprint;
}
bool Dataset::is_subset() const noexcept {
  return choice_ != nullptr;
}

Dataset Dataset::whole_split() const {
  return {impl_, nullptr};
}

int64_t Dataset::index_in_split(int64_t record_index) const {
  if (record_index < 0 || record_index >= num_records()) {
    throw error_at(path(), ErrorCode::invalid_argument,
                   "there is no record {}; the {} has {} records, and the first is record 0",
                   record_index, is_subset() ? "subset" : "split", num_records());
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
  return errors_only(path(), [&] {
    const Filter wanted = with_labels_for_classes(filter, manifest());
    // Memory is taken for the records of a shard whose columns could be read: a sparse file may
    // claim any number.
    std::vector<bool> matches;
    for (const ShardReader* shard : impl_->shards) {
      const size_t first = matches.size();
      const auto found = matching_records(*shard, wanted);
      matches.resize(first + static_cast<size_t>(shard->num_records()));
      for (const int64_t record : found) matches[first + static_cast<size_t>(record)] = true;
    }
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < num_records(); ++i) {
      if (matches[static_cast<size_t>(index_in_split(i))]) kept.push_back(i);
    }
    return subset(kept);
  });
}

int64_t Dataset::num_sources() const {
  return impl_->is_chain() ? std::ssize(impl_->sources) : 1;
}

Dataset Dataset::source(int64_t source) const {
  if (source < 0 || source >= num_sources()) {
    throw error_at(path(), ErrorCode::invalid_argument,
                   "there is no source {}; the data set has {} sources", source, num_sources());
  }
  return impl_->is_chain() ? impl_->sources[static_cast<size_t>(source)] : whole_split();
}

int64_t Dataset::source_of(int64_t record_index) const {
  const int64_t index = index_in_split(record_index);
  return impl_->is_chain() ? static_cast<int64_t>(impl_->source_of(index)) : 0;
}

std::vector<int64_t> Dataset::source_sizes() const {
  if (num_sources() == 1) return {num_records()};
  std::vector<int64_t> sizes(impl_->sources.size());
  size_t last = 0;
  if (!is_subset()) {
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = impl_->sources[i].num_records();
    return sizes;
  }
  for (const int64_t record : choice_->records) {
    const size_t source = impl_->source_of(record);
    if (source < last) {
      throw error_at(path(), ErrorCode::invalid_argument,
                     "the subset has records of source {} after records of source {}; make a "
                     "subset of each data set first, and then chain the subsets",
                     source, last);
    }
    last = source;
    ++sizes[source];
  }
  return sizes;
}

const FieldMapping* Dataset::field_mapping(int64_t record_index) const {
  if (!impl_->is_chain()) return nullptr;
  return impl_->mapping(impl_->source_of(index_in_split(record_index)));
}

Dataset::Place Dataset::find(int64_t record_index) const {
  const int64_t index = index_in_split(record_index);
  const auto& firsts = impl_->first_record;
  const auto shard =
      static_cast<size_t>(std::ranges::upper_bound(firsts, index) - firsts.begin() - 1);
  return {.shard_index = shard,
          .local_index = index - firsts[shard],
          .shard = *impl_->shards[shard],
          .mapping = impl_->is_chain() ? impl_->mapping(impl_->source_of_shard[shard]) : nullptr};
}

Dataset::Location Dataset::locate(int64_t record_index) const {
  const Place place = find(record_index);
  return {.shard_index = static_cast<int64_t>(place.shard_index),
          .local_index = place.local_index,
          .record = place.shard.locate(place.local_index)};
}

void Dataset::will_locate(int64_t record_index) const {
  const Place place = find(record_index);
  place.shard.will_locate(place.local_index);
}

void Dataset::will_read(int64_t record_index) const {
  const Place place = find(record_index);
  if (place.shard.is_local()) return;
  try {
    const RecordLocation where = place.shard.locate(place.local_index);
    place.shard.announce(where.offset, where.stored_bytes);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // The read says what is wrong.
  }
}

RecordName Dataset::name(int64_t record_index) const {
  const Place place = find(record_index);
  return {&place.shard.path(), place.local_index};
}

void Dataset::read(int64_t record_index, std::vector<std::byte>& out) const {
  const Place place = find(record_index);
  place.shard.read(place.local_index, out);
  if (place.mapping == nullptr) return;
  errors_only(place.shard.path(), place.local_index, kMemoryForRecords, [&] {
    const std::vector<std::byte> stored = std::move(out);
    const RecordView view(schema(), stored, {&place.shard.path(), place.local_index},
                          place.mapping);
    RecordBuilder builder(schema());
    for (size_t i = 0; i < schema().fields.size(); ++i) {
      if (!view.is_null(i)) builder.set_raw(i, view.field(i));
    }
    builder.encode(out);
  });
}

bool Dataset::read_field(int64_t record_index, size_t field, std::vector<std::byte>& out) const {
  const Place place = find(record_index);
  if (place.mapping == nullptr || field >= schema().fields.size()) {
    return place.shard.read_field(place.local_index, field, out);
  }
  const int64_t position = place.mapping->positions[field];
  out.clear();
  return position >= 0 &&
         place.shard.read_field(place.local_index, static_cast<size_t>(position), out);
}

template <typename T>
std::vector<T> Dataset::column(std::vector<T> (ShardReader::*read_column)(const std::string&) const,
                               const std::string& field) const {
  return errors_only(path(), [&] {
    std::vector<T> all;  // grows by what was read: a sparse file may claim any number of records
    const size_t position = impl_->is_chain() ? schema().require(field) : 0;
    for (size_t i = 0; i < impl_->shards.size(); ++i) {
      const ShardReader& shard = *impl_->shards[i];
      const FieldMapping* mapping =
          impl_->is_chain() ? impl_->mapping(impl_->source_of_shard[i]) : nullptr;
      const bool is_missing = mapping != nullptr && mapping->positions[position] < 0;
      std::vector<T> part = is_missing ? std::vector<T>(static_cast<size_t>(shard.num_records()))
                                       : (shard.*read_column)(field);
      if (all.empty()) {
        all = std::move(part);
      } else {
        std::ranges::move(part, std::back_inserter(all));
      }
    }
    if (!is_subset()) return all;
    std::vector<T> chosen;
    chosen.reserve(choice_->records.size());
    for (const int64_t record : choice_->records)
      chosen.push_back(all[static_cast<size_t>(record)]);
    return chosen;
  });
}

std::vector<int64_t> Dataset::int_column(const std::string& field) const {
  return column(&ShardReader::int_column, field);
}
std::vector<uint64_t> Dataset::uint_column(const std::string& field) const {
  return column(&ShardReader::uint_column, field);
}
std::vector<double> Dataset::float_column(const std::string& field) const {
  return column(&ShardReader::float_column, field);
}
std::vector<std::string> Dataset::string_column(const std::string& field) const {
  return column(&ShardReader::string_column, field);
}

}  // namespace ffkit
