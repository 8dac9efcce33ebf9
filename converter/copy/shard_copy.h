// One shard on its way from a store to another, checked while it passes.
//
//   ends of the shard ─▶ where records are, their checksums
//   front to back, pieces of 4 MiB, four asked for ahead ─▶ CRC-32C of each record ─▶ Upload
//   what is not records, as it passed ─▶ opened again, compared with the manifest ─▶ finish()
#pragma once

#include <atomic>

#include <ffkit/format/manifest.h>

#include "storage/addresses/place.h"
#include "storage/stores/object_store.h"

namespace ffkit {

// A file that a store is asked for.
struct StoredFile {
  explicit StoredFile(Place file) : place(std::move(file)), store(store_of(place.address())) {}

  Place place;
  std::shared_ptr<ObjectStore> store;
};

// Throws Error(corrupt) for a shard that is damaged, or not the one that is listed;
// Error(cancelled) once `cancel`, which may be null, is true. The copy appears when all is right.
void copy_shard(const StoredFile& from, const StoredFile& to, const ManifestShard& listed,
                const Schema& schema, const std::atomic<bool>* cancel);

// Whether the file is the listed shard, by its length and its catalog.
bool is_listed_shard(const StoredFile& file, const ManifestShard& listed);

}  // namespace ffkit
