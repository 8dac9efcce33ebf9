// What libffkit_parquet.so gives: parquet files, and Arrow's own IPC files and streams, by Arrow's
// library, behind a C interface, so that nothing else needs Arrow. The converter opens the module
// when the first file is read.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <ffkit/sources/arrow_c.h>

extern "C" {

// A file's bytes. read() returns 0, or another number after a failure, which its owner remembers.
struct FfkitParquetBytes {
  void* context;
  int64_t num_bytes;
  int (*read)(void* context, int64_t offset, int64_t num_bytes, void* out);
};

// All functions return 0, or -1 with a sentence of up to `error_bytes` bytes in `error`. A file may
// be used by one thread at a time.
struct FfkitParquetModule {
  // `bytes` must live as long as the file. `is_ipc`: not parquet, but Arrow's IPC file or stream.
  int (*open)(const struct FfkitParquetBytes* bytes, int is_ipc, void** file, char* error,
              size_t error_bytes);
  void (*close)(void* file);
  int (*schema)(void* file, struct ArrowSchema* schema, char* error, size_t error_bytes);
  // Of IPC, one group, of which nothing is known beforehand: 0 rows and bytes.
  int64_t (*num_groups)(void* file);
  void (*group)(void* file, int64_t group, int64_t* num_rows, int64_t* num_bytes);
  // The rows of a group in batches of up to `batch_rows`. `columns`: names of top-level columns;
  // null: all. Of IPC, all columns in the batches that the file has, each of them checked.
  int (*read)(void* file, int64_t group, const char* const* columns, size_t num_columns,
              int64_t batch_rows, struct ArrowArrayStream* stream, char* error, size_t error_bytes);
};

// The module's only function. The number is that of this interface.
const struct FfkitParquetModule* ffkit_parquet_module_2();

}  // extern "C"
