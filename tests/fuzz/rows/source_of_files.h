// What fuzz targets of sources with an index.json do: files of any bytes in a folder in memory, and
// all records of the source that is opened there.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <ffkit/sources/row_sources.h>

#include "touch.h"

namespace ffkit::fuzzing {

// A folder in memory as long as the program runs.
class FolderInMemory {
 public:
  FolderInMemory() {
    std::string name = "/dev/shm/ffkit-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~FolderInMemory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderInMemory(const FolderInMemory&) = delete;
  FolderInMemory& operator=(const FolderInMemory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline const std::filesystem::path& folder_in_memory() {
  static const FolderInMemory folder;
  return folder.path();
}

inline void write_in_memory(const char* name, std::string_view bytes) {
  std::ofstream file(folder_in_memory() / name, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) std::abort();
}

// How many rows the table in front of a file counts; 1 where it has none, 1,000 at most.
inline int64_t rows_counted_in(std::string_view file) {
  uint32_t count = 1;
  if (file.size() >= sizeof(count)) std::memcpy(&count, file.data(), sizeof(count));
  return std::clamp<int64_t>(count, 1, 1000);
}

// Opens the source in the folder, and reads its first 20 records.
template <typename Open>
void read_source(const Open& open) {
  attempt([&] {
    RowOptions options;
    options.max_sample_bytes = 1 << 20;
    options.temporary_folder = folder_in_memory();
    const std::unique_ptr<Source> source = open(folder_in_memory(), options);
    const Schema schema = source->schema();
    RecordBuilder builder(schema);
    std::vector<std::byte> record;
    for (int64_t i = 0; i < std::min<int64_t>(source->splits().at(0).num_samples, 20); ++i) {
      SampleBuffers buffers;
      attempt([&] {
        source->read(0, i, builder, buffers);
        builder.encode(record);
        const RecordView view(schema, record);
        for (size_t field = 0; field < schema.fields.size(); ++field) view.field(field).verify();
        touch(record);
      });
    }
  });
}

}  // namespace ffkit::fuzzing
