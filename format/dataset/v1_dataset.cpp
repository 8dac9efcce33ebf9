#include <algorithm>
#include <numeric>

#include <ffkit/format/record.h>

#include "base/bytes/pickle.h"
#include "base/file/file.h"
#include "base/make_error.h"
#include "dataset/dataset_files.h"
#include "reader/open_shards.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "v1/v1_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Labels of meta.pkl are believed when they agree with this many records, evenly spread.
constexpr int64_t kNumChecked = 64;

struct Meta {
  std::vector<std::string> classes;
  std::vector<int64_t> targets;
};

Meta read_meta(const fs::path& path) {
  const std::string bytes = read_text_at(path, kMaxWholeFileBytes);
  try {
    Pickle pickle;
    pickle.parse(std::as_bytes(std::span(bytes)));
    Meta meta;
    for (const Pickle::Ref item : pickle.items(pickle.at(pickle.root(), "classes"), "'classes'")) {
      meta.classes.emplace_back(pickle.text(item, "a class"));
    }
    for (const Pickle::Ref item : pickle.items(pickle.at(pickle.root(), "targets"), "'targets'")) {
      meta.targets.push_back(pickle.integer(item, "a target"));
    }
    return meta;
  } catch (const Error& e) {
    throw e.within({.path = path.string()});
  }
}

fs::path folder_of(const fs::path& file) {
  return Place(file).is_in_store() ? file.parent_path() : fs::absolute(file).parent_path();
}

std::optional<fs::path> find_meta(const fs::path& file) {
  const fs::path folder = folder_of(file);
  for (const fs::path& candidate : {folder / "meta.pkl", folder.parent_path() / "meta.pkl"}) {
    if (Place(candidate).is_in_store() ? has_object(candidate) : fs::is_regular_file(candidate)) {
      return candidate;
    }
  }
  return std::nullopt;
}

bool agrees(const std::vector<ShardReader>& shards, const std::vector<int64_t>& targets) {
  int64_t first = 0;
  int64_t total = 0;
  for (const ShardReader& shard : shards) total += shard.num_records();
  if (total != std::ssize(targets)) return false;
  const int64_t step = std::max<int64_t>(1, total / kNumChecked);
  std::vector<std::byte> record;
  for (const ShardReader& shard : shards) {
    for (int64_t i = (step - first % step) % step; i < shard.num_records(); i += step) {
      if (!shard.verify_record(i)) {  // a damaged one says nothing
        shard.read(i, record);
        if (RecordView(shard.schema(), record).scalar<int64_t>(1) !=
            targets[static_cast<size_t>(first + i)]) {
          return false;
        }
      }
    }
    first += shard.num_records();
  }
  return true;
}

// Opens the files of `shards` again, one after another, now with this payload and, unless there are
// none, with these labels.
void reopen(std::vector<ShardReader>& shards, const V1Payload& payload,
            const std::vector<int64_t>& targets) {
  auto next = targets.begin();
  for (ShardReader& shard : shards) {
    V1FileOptions options{.reader = shard.options(), .payload = payload};
    if (!targets.empty()) {  // as many as the shards have records: see agrees()
      options.labels.assign(next, next + shard.num_records());
      next += shard.num_records();
    }
    shard = reader_of(open_v1_file(open_random_reader(shard.path()), std::move(options)),
                      shard.options());
  }
}

// That of more than half of the files, else bytes. What is in the others is a bad record each then,
// and said.
V1Payload payload_of_all(DatasetFiles& files) {
  std::vector<V1Payload> payloads;
  std::vector<int64_t> counts;
  std::vector<const ShardReader*> first_of;
  for (const ShardReader& shard : files.shards) {
    if (shard.facts().version != 1) {
      throw dataset_error(shard.path(), ErrorCode::invalid_argument,
                          "is an ffkit shard among FFRecord v1 files; open them separately");
    }
    if (shard.num_records() == 0) continue;
    V1Payload payload = v1_payload_of(shard.path(), shard.options());
    const auto known = std::ranges::find(payloads, payload);
    if (known != payloads.end()) {
      ++counts[static_cast<size_t>(known - payloads.begin())];
      continue;
    }
    payloads.push_back(std::move(payload));
    counts.push_back(1);
    first_of.push_back(&shard);
  }
  if (payloads.empty()) return raw_v1_payload();
  const auto most = static_cast<size_t>(std::ranges::max_element(counts) - counts.begin());
  const int64_t num_files = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  V1Payload chosen = 2 * counts[most] > num_files ? payloads[most] : raw_v1_payload();
  for (size_t i = 0; i < payloads.size(); ++i) {
    const std::string file = first_of[i]->path().string();
    const std::string& why = payloads[i].why_raw;
    if (!(payloads[i] == chosen)) {
      files.warnings.push_back(
          fmt::format("{}: its records are {}{}, as in {} of {} files; all files are read as {}",
                      file, payloads[i].text(), why.empty() ? "" : fmt::format(" ({})", why),
                      counts[i], num_files, chosen.text()));
    } else if (!why.empty()) {
      files.warnings.push_back(fmt::format("{}: its records are read as bytes: {}", file, why));
    }
  }
  return chosen;
}

}  // namespace

std::optional<std::vector<fs::path>> find_v1_files(const fs::path& path, const std::string& split) {
  const fs::path place = split.empty() ? path : path / (split + ".ffr");
  if (fs::is_regular_file(place)) return std::vector{place};
  if (!fs::is_directory(place)) return std::nullopt;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(place)) {
    if (entry.is_regular_file() && entry.path().extension() == ".ffr")
      files.push_back(entry.path());
  }
  if (files.empty()) return std::nullopt;
  std::ranges::sort(files);
  return files;
}

DatasetFiles open_v1_dataset(const std::vector<fs::path>& paths,
                             const ShardReaderOptions& options) {
  DatasetFiles files{.path = paths.size() == 1 ? paths.front() : paths.front().parent_path()};
  files.format_version = 1;
  for (const fs::path& path : paths) files.shards.emplace_back(path, options);

  const V1Payload payload = payload_of_all(files);
  std::vector<int64_t> targets;
  if (payload == imagenet_v1_payload()) {
    if (const auto meta_path = find_meta(paths.front())) {
      Meta meta = read_meta(*meta_path);
      files.manifest.classes = std::move(meta.classes);
      reopen(files.shards, payload, {});
      if (agrees(files.shards, meta.targets)) targets = std::move(meta.targets);
    }
  }
  reopen(files.shards, payload, targets);

  // "train.ffr/PART_00000.ffr" is the split "train", and "parts/PART_00000.ffr" with others the
  // split "parts".
  const fs::path folder = folder_of(paths.front());
  const fs::path named = folder.extension() == ".ffr" || paths.size() > 1 ? folder : paths.front();
  files.manifest.split = named.stem().string();
  files.manifest.schema = payload.schema;
  files.manifest.source = {{"format", "FFRecord v1"}};
  for (const ShardReader& shard : files.shards) {
    const ShardFacts facts = shard.facts();
    files.manifest.shards.push_back({facts, shard.path().filename().string()});
    if (!facts.warning.empty()) {
      files.warnings.push_back(fmt::format("{} {}", shard.path().string(), facts.warning));
    }
  }
  return files;
}

}  // namespace ffkit
