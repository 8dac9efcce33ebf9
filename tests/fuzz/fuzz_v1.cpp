// An FFRecord v1 file of any bytes: read as a data set with every record and the labels, and as a packed folder with every file.
#include <zlib.h>

#include <cstring>
#include <random>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>
#include <ffkit/format/packed_folder.h>
#include <ffkit/format/record.h>

#include "memory_file.h"
#include "seeds.h"

using namespace ffkit;

namespace {

template <typename Step>
void attempt(const Step& step) {
  try {
    step();
  } catch (const Error&) {
  }
}

uint32_t crc_of(const uint8_t* data, size_t size) {
  return size == 0 ? 0 : static_cast<uint32_t>(crc32_z(0, data, size));
}

// Makes the checksums fit, as far as the header lies within the file.
void reseal(uint8_t* data, size_t size) {
  int64_t count = 0;
  if (size < 12) return;
  std::memcpy(&count, data + 4, 8);
  if (count < 0 || static_cast<uint64_t>(count) > (size - 12) / 12) return;
  const auto n = static_cast<size_t>(count);
  const auto offset_of = [&](size_t i) {
    int64_t offset = static_cast<int64_t>(size);
    if (i < n) std::memcpy(&offset, data + 12 + 4 * n + 8 * i, 8);
    return offset;
  };
  for (size_t i = 0; i < n; ++i) {
    const int64_t begin = offset_of(i);
    const int64_t end = offset_of(i + 1);
    if (begin < 0 || end < begin || end > static_cast<int64_t>(size)) continue;
    const uint32_t crc = crc_of(data + begin, static_cast<size_t>(end - begin));
    std::memcpy(data + 12 + 4 * i, &crc, 4);
  }
  const uint32_t crc = crc_of(data + 4, 8 + 12 * n);
  std::memcpy(data, &crc, 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzzing::MemoryFile file;
  file.assign(data, size);
  attempt([] {
    const Dataset dataset = Dataset::open(file.path());
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < dataset.num_records(); ++i) {
      attempt([&] {
        dataset.read(i, bytes);
        static_cast<void>(RecordView(dataset.schema(), bytes).bytes(0));
      });
      attempt([&] { dataset.read_field(i, 0, bytes); });
    }
    attempt([&] { dataset.int_column("label"); });
    dataset.shard(0).verify();
  });
  attempt([] {
    if (!PackedFolder::is_packed_folder(file.path())) return;
    const PackedFolder folder(file.path());
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < folder.files().size(); ++i) {
      attempt([&] { folder.read(i, bytes); });
    }
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  size = LLVMFuzzerMutate(data, size, max_size);
  if (random() % 8 != 0) reseal(data, size);
  return size;
}
