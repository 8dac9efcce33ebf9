// IoOptions: how the loader reads records from the disk.
#pragma once

#include <cstdint>

#include <ffkit/loader/read_engine.h>

namespace ffkit {

enum class IoEngine {
  automatic,  // io_uring where the kernel allows it, else pread (said once in the log)
  io_uring,   // Error(unsupported) where it is refused
  pread,      // a pool of threads; what the page cache holds is read without them
};

enum class DirectIo {
  // O_DIRECT when the split, or what a subset has of it, is larger than half of the memory (the
  // machine's, or its container's limit) and the file system takes it
  automatic,
  on,   // O_DIRECT; Error(unsupported) where the file system does not take it
  off,  // through the page cache
};

struct IoOptions {
  IoEngine engine = IoEngine::automatic;
  DirectIo direct = DirectIo::automatic;
  int queue_depth = 64;  // reads in flight, 1 .. 4096
  // Read buffers in use, from submission to the end of decoding, >= 64 KiB; one record may exceed
  // it alone.
  int64_t max_bytes_in_flight = 64LL << 20;
  int num_retries = 3;  // of a read that fails with EIO, 0 .. 1000
  // What has not been read after this many seconds is taken for a file system that hangs: next()
  // throws Error(io) naming the record, and may be called again, which goes on once the file system
  // answers. start_epoch() and restore() throw likewise when what they have to wait for does not
  // end within this time, and 10 s. 0.01 .. 1e6. Decoding a sample counts as reading.
  double read_timeout_s = 300;
  // io_uring with a kernel thread that takes the reads, so that submitting needs no system call; it
  // keeps a core busy while there are any. Error(unsupported) where the kernel refuses it to
  // IoEngine::io_uring, a line in the log under automatic.
  bool sqpoll = false;
  // Through the page cache: what it holds is copied by the decoding threads, the I/O thread reads
  // the rest. False: it reads all.
  bool decoders_read_cache = true;
  // An engine of your own, see read_engine.h. Then `engine` is not looked at, DirectIo::automatic
  // is off, and decoders_read_cache is false: every record is read by the engine. The pages of the
  // index, a record that is read alone after an error or takes the place of a bad one, and what
  // field decoders read themselves are read from the data set's files all the same.
  MakeReadEngine make_engine = nullptr;
};

}  // namespace ffkit
