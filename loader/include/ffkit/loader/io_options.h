// IoOptions: how the loader reads records from the disk.
#pragma once

#include <cstdint>

#include <ffkit/base/enum_names.h>
#include <ffkit/loader/read_engine.h>

namespace ffkit {

enum class IoEngine {
  automatic,  // io_uring where the kernel allows it, else pread (said once in the log)
  io_uring,   // Error(unsupported) where it is refused
  pread,      // a pool of threads; what the page cache holds is read without them
};
template <>
inline constexpr auto kNames<IoEngine> = enum_names<IoEngine>("engine",
                                                              {{IoEngine::automatic, "automatic"},
                                                               {IoEngine::io_uring, "io_uring"},
                                                               {IoEngine::pread, "pread"}});

enum class DirectIo {
  // O_DIRECT if the split, or the subset of it, is larger than half of the memory (of the machine
  // or its container) and the file system supports it
  automatic,
  on,   // O_DIRECT; Error(unsupported) where the file system does not take it
  off,  // through the page cache
};
template <>
inline constexpr auto kNames<DirectIo> = enum_names<DirectIo>(
    "direct", {{DirectIo::automatic, "automatic"}, {DirectIo::on, "on"}, {DirectIo::off, "off"}});

struct IoOptions {
  IoEngine engine = IoEngine::automatic;
  DirectIo direct = DirectIo::automatic;
  int queue_depth = 64;  // reads in flight, 1 .. 4096
  // Limit of read buffers in use, from submission to the end of decoding, in bytes, >= 64 KiB. A
  // single record may exceed it.
  int64_t max_bytes_in_flight = 64LL << 20;
  int num_retries = 3;  // of a read that fails with EIO, 0 .. 1000
  // After this many seconds a read counts as hanging, 0.01 .. 1e6. next() then throws Error(io),
  // which names the record. You may call next() again; it continues when the file system answers.
  // set_epoch() and restore() also throw if they wait longer than this, or 10 s. Decoding a
  // sample counts as reading.
  double read_timeout_s = 300;
  // io_uring with a kernel thread. Submitting a read then needs no system call, but the thread
  // keeps a core busy while there are reads. If the kernel refuses it, IoEngine::io_uring throws
  // Error(unsupported), and IoEngine::automatic logs a line.
  bool sqpoll = false;
  // Without O_DIRECT: the decoding threads copy cached pages, and the I/O thread reads the rest.
  // False: the I/O thread reads everything.
  bool decoders_read_cache = true;
  bool verify_checksums = true;  // of every record read
  // Reads epoch e + 1 ahead before epoch e ends, so that set_epoch(e + 1) does not wait. If the
  // consumer starts another epoch, that work is wasted.
  bool read_ahead_epochs = true;
  // The user's engine, see read_engine.h. Then `engine` is ignored, DirectIo::automatic means off,
  // and decoders_read_cache is false: the engine reads every record. Only these are still read from
  // the files of the data set: pages of the index, records that are read again after an error or
  // that replace bad ones, and reads of field decoders.
  MakeReadEngine make_engine = nullptr;
};

}  // namespace ffkit
