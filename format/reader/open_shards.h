// OpenShards: of a split with many shards, those that are open. A shard is opened when it is
// needed and compared with what the manifest says of it; the one that was not used for longest is
// closed. Thread-safe. A child of fork() opens its own.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <ffkit/format/schema.h>
#include <ffkit/format/shard_facts.h>
#include <ffkit/format/shard_reader.h>

#include "base/machine/per_process.h"
#include "format/shard/shard_file.h"
#include "storage/reader/random_reader.h"

namespace ffkit {

class ShardFile;

class OpenShards {
 public:
  // Opens a shard and compares it with what is listed of it. `begun`: its reader, where that was
  // made before; or null.
  using Open = std::function<std::unique_ptr<ShardFile>(
      const std::filesystem::path& path, std::shared_ptr<const RandomReader> begun,
      const ShardSummary& listed, const Schema& schema)>;

  // Of which `max_open` may be open at a time. `schema` is the manifest's.
  OpenShards(int64_t max_open, Schema schema, Open open);

  // The shard that the manifest lists so, `name` in `folder`. It is opened by the first function
  // that reads it, and must not outlive this, nor what is given by reference: a manifest may have
  // hundreds of thousands, and a path takes 400 bytes.
  std::unique_ptr<ShardFile> shard(const std::filesystem::path& folder, const std::string& name,
                                   const ShardSummary& listed);

 private:
  class Shard;
  struct Entry {
    const Shard* shard;
    std::shared_ptr<const ShardFile> file;
  };

  // Of this process.
  struct State {
    // One thread opens a shard, others wait for it. By the shard's address.
    std::array<std::mutex, 64> opening;
    std::mutex mutex;          // guards what follows
    std::list<Entry> entries;  // the last used one first
    std::unordered_map<const Shard*, std::list<Entry>::iterator> places;
    // Of objects that will be opened.
    std::unordered_map<const Shard*, std::shared_ptr<const RandomReader>> begun;
  };

  std::shared_ptr<const ShardFile> get(const Shard& shard);
  std::shared_ptr<const ShardFile> find(const Shard& shard);
  // Has what opening an object reads fetched, without waiting.
  void begin(const Shard& shard) noexcept;

  const int64_t max_open_;
  const Schema schema_;
  const Open open_;
  PerProcess<State> state_;
};

// What a manifest says of the file.
KnownFile known_file(const ShardSummary& listed);

// Has the kernel fetch what opening the shard reads, without waiting for it. A shard that is not
// there is found by opening it.
void announce_shard(const std::filesystem::path& path, int64_t file_bytes) noexcept;

// Opens a file of whichever version. Throws as ShardReader's constructor.
std::unique_ptr<ShardFile> open_shard_file(const std::filesystem::path& path,
                                           const ShardReaderOptions& options);
std::unique_ptr<ShardFile> open_shard_file(std::shared_ptr<const RandomReader> file,
                                           const ShardReaderOptions& options);

ShardReader reader_of(std::unique_ptr<ShardFile> file, const ShardReaderOptions& options);

}  // namespace ffkit
