// ReadEngine: reads the bytes of records from files to memory, many at once, completed in any
// order. The loader has two engines, io_uring and pread (IoOptions::engine); IoOptions::make_engine
// adds another one, for example for an object store or for records in memory.
//
//   submit() submit() submit() ─▶ kernel, threads, ... ─▶ wait() ─▶ {tag, result} {tag, result}
//
// Contract:
//
// - Threads. submit(), wait() and num_in_flight() are called by one thread at a time, but not
//   always
//   the same one. description() is called by any thread meanwhile.
// - Lifetime. `buffer` and buffer_memory stay until the engine is destroyed. Its destructor waits
//   for the reads in flight. The engine writes nothing to a buffer after that, or after the read's
//   completion. The engine is destroyed before the files are closed.
// - The engine continues short reads, and repeats reads that end with EINTR or EAGAIN. A result
//   that
//   is less than num_bytes says that the file ends there.
// - The error of one read is its result, -errno. -EIO is an unreadable sector: the engine repeats
//   such a read num_retries times. The loader then reads the record alone and asks
//   LoaderOptions::bad_samples. Any other error ends the epoch.
// - An exception means that the whole engine cannot continue. Loader::next() throws it. If reads
//   stay in flight then, the loader cannot start another epoch, and its memory is kept until the
//   process ends.
// May change in any version (docs/stability.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/shard_reader.h>

namespace ffkit {

// A shard.
struct ReadFile {
  std::filesystem::path path;
  // Open for reading, with O_DIRECT if the loader uses that. -1 for a shard that is opened when
  // needed (ShardReaderOptions::max_open_shards): its reads contain the descriptor.
  int descriptor = -1;
};

struct ReadRequest {
  int file = 0;  // of those that the engine was made for, from 0
  int64_t offset = 0;
  size_t num_bytes = 0;
  std::byte* buffer = nullptr;
  uint64_t tag = 0;  // the caller's, given back in the completion; no other read in flight has it
  // The open file; stays until the read's completion. Without a descriptor it is in a store; use
  // its read().
  const ShardReader::OpenFile* shard = nullptr;
};

struct ReadCompletion {
  uint64_t tag = 0;
  int64_t result = 0;  // bytes read, or -errno
  // The error of a read with -errno, if the number does not describe it; ends the epoch.
  std::exception_ptr error = nullptr;
};

struct ReadEngineOptions {
  int queue_depth = 64;  // most reads in flight
  int num_retries = 3;   // of a read that fails with EIO
  // The alignment of offsets, lengths and buffers: 1 through the page cache, else that of O_DIRECT.
  // Reads may then go beyond the end of the file.
  size_t alignment = 1;
  // Memory that most buffers lie in, or nothing. io_uring registers it with the kernel.
  std::span<std::byte> buffer_memory = {};
  bool sqpoll = false;  // see IoOptions
  // Gets the loader's warnings; null: spdlog's default logger does.
  std::function<void(std::string_view)> on_warning = nullptr;
};

class ReadEngine {
 public:
  ReadEngine() = default;
  virtual ~ReadEngine() = default;
  ReadEngine(const ReadEngine&) = delete;
  ReadEngine& operator=(const ReadEngine&) = delete;

  // For people, such as "io_uring (fixed files, fixed buffers)"; LoaderStatistics::io_engine.
  [[nodiscard]] virtual std::string description() const = 0;
  // Reads that were submitted and whose completions wait() has not returned.
  [[nodiscard]] virtual int num_in_flight() const = 0;
  // Takes a read; it need not start before wait(). Precondition: num_in_flight() < queue_depth.
  virtual void submit(const ReadRequest& request) = 0;
  // Starts all submitted reads, blocks until at least one read is complete, and returns all
  // complete ones. The result is valid until the next call. `wanted` is the number of completions
  // that the caller would like; an engine may wait for this many. Precondition: num_in_flight() >
  // 0.
  virtual std::span<const ReadCompletion> wait(int wanted) = 0;
};

// Makes the engine of a loader, for the shards of its data set in their order. The Loader's
// constructor calls it and passes on its exceptions.
using MakeReadEngine = std::function<std::unique_ptr<ReadEngine>(const std::vector<ReadFile>& files,
                                                                 const ReadEngineOptions& options)>;

}  // namespace ffkit
