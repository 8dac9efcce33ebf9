// The search: hashes, pairs, groups.
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include <ffkit/base/error.h>

#include "base/make_error.h"
#include "duplicates/duplicate_search.h"
#include "duplicates/hash_file.h"

namespace ffkit {
namespace {

// The records of all splits, numbered through: the split's own number and where it begins.
struct HashedSplits {
  const std::vector<Dataset>& datasets;
  std::vector<HashedField> fields;
  std::vector<int64_t> begins;  // and the end
  std::vector<RecordHash> hashes;

  std::span<RecordHash> of(size_t split) {
    return std::span(hashes).subspan(begins[split], begins[split + 1] - begins[split]);
  }
  int split_of(int64_t number) const {
    return static_cast<int>(std::ranges::upper_bound(begins, number) - begins.begin()) - 1;
  }
};

// Sets that are joined pair by pair; each has the name of its smallest number.
class UnionFind {
 public:
  explicit UnionFind(size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  uint32_t find(uint32_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void join(uint32_t i, uint32_t j) {
    i = find(i);
    j = find(j);
    if (i != j) parents_[std::max(i, j)] = std::min(i, j);
  }

 private:
  std::vector<uint32_t> parents_;
};

void check_options(const std::vector<Dataset>& splits, const DuplicateOptions& options) {
  check_between(option_name("distance"), options.max_distance, 0, kMaxHashDistance);
  int64_t num_records = 0;
  for (const Dataset& split : splits) num_records += split.num_records();
  if (splits.empty() || num_records >= std::numeric_limits<uint32_t>::max()) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} splits with {} records; expected at least a split, and fewer than 2^32 "
                   "records",
                   splits.size(), num_records);
  }
}

HashedSplits choose_fields(const std::vector<Dataset>& datasets, const DuplicateOptions& options,
                           std::vector<std::string>& notes) {
  check_options(datasets, options);
  HashedSplits splits{.datasets = datasets, .begins = {0}};
  for (const Dataset& dataset : datasets) {
    splits.fields.push_back(choose_hashed_field(dataset, options.field, notes));
    if (options.exact) splits.fields.back().kind = HashKind::bytes;
    splits.begins.push_back(splits.begins.back() + dataset.num_records());
  }
  splits.hashes.resize(splits.begins.back());
  return splits;
}

void load_all(HashedSplits& splits, const std::filesystem::path& folder,
              std::vector<std::string>& notes, std::vector<int64_t>& num_loaded) {
  for (size_t i = 0; i < splits.datasets.size(); ++i) {
    try {
      num_loaded.push_back(
          load_split_hashes(splits.datasets[i], splits.fields[i], folder, splits.of(i)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io) throw;
      std::ranges::fill(splits.of(i), RecordHash());
      num_loaded.push_back(0);
      notes.push_back(error.text(OptionStyle::command_line));
    }
  }
}

// A file may be stored as it is in one split, and in the dct code in another one.
void make_contents_comparable(HashedSplits& splits) {
  bool has_dct = false;
  bool has_jpeg = false;
  bool are_hashed = true;
  std::vector<uint64_t> jpegs;
  for (const RecordHash& hash : splits.hashes) {
    has_dct = has_dct || hash.form == HashedForm::dct;
    if (hash.form != HashedForm::jpeg) continue;
    has_jpeg = true;
    // JPEGs that cannot be decoded have no dct code.
    are_hashed = are_hashed && hash.state != HashState::bytes;
    if (hash.state == HashState::picture || hash.state == HashState::plain) {
      jpegs.push_back(hash.picture);
    }
  }
  if (!has_dct || !has_jpeg) return;
  tbb::parallel_sort(jpegs);
  std::optional<std::vector<uint64_t>> choice;
  if (are_hashed) choice = std::move(jpegs);
  for (size_t i = 0; i < splits.datasets.size(); ++i) {
    hash_dct_as_jpeg(splits.datasets[i], splits.fields[i], choice, splits.of(i));
  }
}

// The numbers of the records that are compared: those that could be read, and each record once,
// though a subset may have it several times.
std::vector<uint32_t> compared_records(HashedSplits& splits) {
  std::vector<uint32_t> numbers;
  numbers.reserve(splits.hashes.size());
  for (size_t s = 0; s < splits.datasets.size(); ++s) {
    const Dataset& dataset = splits.datasets[s];
    std::unordered_set<int64_t> seen;
    for (int64_t i = splits.begins[s]; i < splits.begins[s + 1]; ++i) {
      const HashState state = splits.hashes[i].state;
      if (state == HashState::null || state == HashState::damaged) continue;
      if (dataset.is_subset() &&
          !seen.insert(dataset.index_in_split(i - splits.begins[s])).second) {
        continue;
      }
      numbers.push_back(static_cast<uint32_t>(i));
    }
  }
  return numbers;
}

void join_equal(const HashedSplits& splits, std::vector<uint32_t>& numbers, UnionFind& sets) {
  const std::vector<RecordHash>& hashes = splits.hashes;
  tbb::parallel_sort(numbers, [&](uint32_t a, uint32_t b) {
    return std::tie(hashes[a].content, a) < std::tie(hashes[b].content, b);
  });
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (hashes[numbers[i - 1]].content == hashes[numbers[i]].content) {
      sets.join(numbers[i - 1], numbers[i]);
    }
  }
}

void join_near(const HashedSplits& splits, std::vector<uint32_t>& numbers, int distance,
               UnionFind& sets, const std::atomic<bool>& stop) {
  const std::vector<RecordHash>& hashes = splits.hashes;
  std::erase_if(numbers, [&](uint32_t i) { return hashes[i].state != HashState::picture; });
  tbb::parallel_sort(numbers, [&](uint32_t a, uint32_t b) {
    return std::tie(hashes[a].picture, a) < std::tie(hashes[b].picture, b);
  });
  // Each hash once, with the first record that has it.
  std::vector<uint64_t> distinct;
  std::vector<uint32_t> first;
  distinct.reserve(numbers.size());
  first.reserve(numbers.size());
  for (const uint32_t number : numbers) {
    if (!distinct.empty() && distinct.back() == hashes[number].picture) {
      sets.join(first.back(), number);
    } else {
      distinct.push_back(hashes[number].picture);
      first.push_back(number);
    }
  }
  find_near_pairs(
      distinct, distance, [&](uint32_t i, uint32_t j) { sets.join(first[i], first[j]); }, stop);
}

DuplicateGroup make_group(const HashedSplits& splits, std::span<const uint32_t> numbers) {
  DuplicateGroup group;
  for (const uint32_t number : numbers) {
    const int split = splits.split_of(number);
    const int64_t record = splits.datasets[split].index_in_split(number - splits.begins[split]);
    group.records.push_back({.split = split,
                             .record = record,
                             .content = number,
                             .hash = splits.hashes[number].picture});
  }
  std::ranges::sort(group.records, {},
                    [](const DuplicateRecord& r) { return std::pair(r.split, r.record); });
  std::map<ContentHash, std::pair<int64_t, int64_t>> contents;  // number, count
  for (DuplicateRecord& record : group.records) {
    auto& [content, count] =
        contents.try_emplace(splits.hashes[record.content].content, std::ssize(contents), 0)
            .first->second;
    record.content = content;
    ++count;
  }
  std::vector<int64_t> counts(contents.size());
  for (const auto& [hash, content] : contents) counts[content.first] = content.second;
  for (DuplicateRecord& record : group.records) {
    record.exact = counts[record.content] > 1;
    record.distance = std::popcount(record.hash ^ group.records.front().hash);
  }
  group.exact = contents.size() == 1;
  group.across = group.records.front().split != group.records.back().split;
  return group;
}

std::vector<DuplicateGroup> make_groups(const HashedSplits& splits,
                                        const std::vector<uint32_t>& numbers, UnionFind& sets) {
  std::vector<std::pair<uint32_t, uint32_t>> members;  // set, number
  std::vector<bool> has_several(splits.hashes.size());
  for (const uint32_t number : numbers) {
    if (const uint32_t set = sets.find(number); set != number) has_several[set] = true;
  }
  for (const uint32_t number : numbers) {
    if (const uint32_t set = sets.find(number); has_several[set]) members.emplace_back(set, number);
  }
  std::ranges::sort(members);
  std::vector<DuplicateGroup> groups;
  std::vector<uint32_t> group;
  for (size_t i = 0; i < members.size(); ++i) {
    group.push_back(members[i].second);
    if (i + 1 < members.size() && members[i + 1].first == members[i].first) continue;
    groups.push_back(make_group(splits, group));
    group.clear();
  }
  return groups;
}

}  // namespace

std::filesystem::path default_hash_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  const std::filesystem::path cache = variable("XDG_CACHE_HOME");
  // By the specification a relative one is ignored.
  if (cache.is_absolute()) return cache / "ffkit" / "hashes";
  const std::filesystem::path home = variable("HOME");
  return home.is_absolute() ? home / ".cache" / "ffkit" / "hashes" : std::filesystem::path();
}

Duplicates find_duplicates(const std::vector<Dataset>& splits, const DuplicateOptions& options,
                           DuplicateProgress& progress) {
  std::vector<std::string> notes;
  std::vector<int64_t> num_loaded;
  HashedSplits hashed = choose_fields(splits, options, notes);
  progress.num_done = 0;
  progress.num_total = hashed.begins.back();
  load_all(hashed, options.hash_folder, notes, num_loaded);
  progress.num_done = std::accumulate(num_loaded.begin(), num_loaded.end(), int64_t{0});
  std::vector<DuplicateSplit> facts(splits.size());
  for (size_t i = 0; i < splits.size(); ++i) {
    hash_split(splits[i], hashed.fields[i], options.hash_folder, hashed.of(i), progress, notes);
    facts[i] = {.name = splits[i].manifest().split,
                .field = hashed.fields[i].name,
                .counts = count_hashes(splits[i], hashed.fields[i], hashed.of(i))};
    facts[i].counts.num_from_file = num_loaded[i];
  }
  make_contents_comparable(hashed);
  std::vector<uint32_t> numbers = compared_records(hashed);
  UnionFind sets(hashed.hashes.size());
  join_equal(hashed, numbers, sets);
  const std::vector<uint32_t> compared = numbers;
  if (!options.exact) join_near(hashed, numbers, options.max_distance, sets, progress.stop);
  if (progress.stop) throw Error(ErrorCode::cancelled, "the search was stopped");
  return {std::move(facts), make_groups(hashed, compared, sets), std::move(notes),
          options.exact ? -1 : options.max_distance};
}

}  // namespace ffkit
