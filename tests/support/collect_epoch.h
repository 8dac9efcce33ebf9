// What a loader's batches hold, copied out, to compare loaders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ffkit/loader/loader.h>

namespace ffkit::testing {

struct CollectedBatch {
  std::vector<int64_t> record_indices;
  std::vector<int64_t> labels;
  std::vector<std::byte> images;
  std::vector<std::vector<std::byte>> fields;  // all of them, image and label included
  int64_t epoch = 0;
  int64_t step = 0;
  int64_t num_replaced = 0;
  bool operator==(const CollectedBatch&) const = default;
};

inline CollectedBatch collect(const Batch& batch) {
  CollectedBatch out;
  out.record_indices.assign(batch.record_indices().begin(), batch.record_indices().end());
  out.labels.assign(batch.labels().begin(), batch.labels().end());
  for (size_t i = 0; i < batch.num_fields(); ++i) {
    const BatchArray array = batch.field(i);
    const auto* data = static_cast<const std::byte*>(array.data);
    if (data == batch.images()) out.images.assign(data, data + array.num_bytes());
    out.fields.emplace_back(data, data + array.num_bytes());
  }
  out.epoch = batch.epoch();
  out.step = batch.step();
  out.num_replaced = static_cast<int64_t>(batch.replacements().size());
  return out;
}

// The batches that are left of the epoch.
inline std::vector<CollectedBatch> collect_rest(Loader& loader) {
  std::vector<CollectedBatch> out;
  while (const std::optional<Batch> batch = loader.next()) out.push_back(collect(*batch));
  return out;
}

inline std::vector<CollectedBatch> collect_epoch(Loader& loader, int64_t epoch) {
  loader.set_epoch(epoch);
  return collect_rest(loader);
}

inline std::vector<int64_t> records_of(const std::vector<CollectedBatch>& batches) {
  std::vector<int64_t> out;
  for (const CollectedBatch& b : batches) {
    out.insert(out.end(), b.record_indices.begin(), b.record_indices.end());
  }
  return out;
}

}  // namespace ffkit::testing
