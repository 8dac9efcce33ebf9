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
  int64_t epoch = 0;
  int64_t step = 0;
  int64_t num_replaced = 0;
  bool operator==(const CollectedBatch&) const = default;
};

inline CollectedBatch collect(const Batch& batch) {
  CollectedBatch out;
  out.record_indices.assign(batch.record_indices().begin(), batch.record_indices().end());
  out.labels.assign(batch.labels().begin(), batch.labels().end());
  size_t num_bytes = size_of(batch.dtype());
  for (int64_t extent : batch.shape()) num_bytes *= static_cast<size_t>(extent);
  const auto* images = static_cast<const std::byte*>(batch.images());
  out.images.assign(images, images + num_bytes);
  out.epoch = batch.epoch();
  out.step = batch.step();
  out.num_replaced = batch.num_replaced();
  return out;
}

// The batches that are left of the epoch.
inline std::vector<CollectedBatch> collect_rest(Loader& loader) {
  std::vector<CollectedBatch> out;
  while (const std::optional<Batch> batch = loader.next()) out.push_back(collect(*batch));
  return out;
}

inline std::vector<CollectedBatch> collect_epoch(Loader& loader, int64_t epoch) {
  loader.start_epoch(epoch);
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
