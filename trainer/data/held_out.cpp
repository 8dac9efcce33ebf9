#include "data/held_out.h"

#include <cstdint>

#include "base/make_error.h"

namespace ffkit {
namespace {

// FNV-1a, whose high bits splitmix64's last step makes as even as its low ones.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

Dataset side_of(const Dataset& split, double share, bool is_held) {
  const std::optional<std::vector<std::string>> ids = record_ids(split);
  if (!ids) {
    throw dataset_error(
        split.path(), ErrorCode::invalid_argument,
        "has no column 'id' of texts, by which records are held out for validation");
  }
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < ids->size(); ++i) {
    if (is_held_out((*ids)[i], share) == is_held) chosen.push_back(i);
  }
  if (chosen.empty() || chosen.size() == ids->size()) {
    throw dataset_error(split.path(), ErrorCode::invalid_argument,
                        "a share of {} holds {} of its {} records out; give another share", share,
                        is_held == chosen.empty() ? "none" : "all", ids->size());
  }
  return split.subset(chosen);
}

}  // namespace

std::optional<std::vector<std::string>> record_ids(const Dataset& dataset) {
  const int at = dataset.schema().index_of("id");
  if (at < 0) return std::nullopt;
  const Field& field = dataset.schema().fields[at];
  if (field.type != FieldType::string || !field.column) return std::nullopt;
  return dataset.string_column("id");
}

bool is_held_out(std::string_view id, double share) {
  constexpr double kTwoTo53 = 9007199254740992;
  return static_cast<double>(hash_of(id) >> 11) < share * kTwoTo53;
}

Dataset held_out(const Dataset& split, double share) {
  return side_of(split, share, true);
}

Dataset without_held_out(const Dataset& split, double share) {
  return side_of(split, share, false);
}

}  // namespace ffkit
