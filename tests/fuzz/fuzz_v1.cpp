// An FFRecord v1 file of any bytes: read as a data set with every record and the labels, and as a
// packed folder with every file.
#include <random>

#include <ffkit/format/dataset.h>
#include <ffkit/format/packed_folder.h>
#include <ffkit/format/record.h>

#include "memory_file.h"
#include "seeds/seeds.h"
#include "touch.h"
#include "v1_file_builder.h"

using namespace ffkit;
using ffkit::fuzzing::attempt;

namespace {

// The records of a file, as far as its header makes sense.
std::vector<std::string> split(std::string_view file) {
  int64_t count = 0;
  if (file.size() < 12) return {};
  std::memcpy(&count, file.data() + 4, 8);
  if (count < 0 || static_cast<uint64_t>(count) > (file.size() - 12) / 12) return {};
  const auto n = static_cast<size_t>(count);
  const auto offset_of = [&](size_t i) {
    auto offset = static_cast<int64_t>(file.size());
    if (i < n) std::memcpy(&offset, file.data() + 12 + 4 * n + 8 * i, 8);
    return offset;
  };
  std::vector<std::string> records;
  for (size_t i = 0; i < n; ++i) {
    const int64_t begin = offset_of(i);
    const int64_t end = offset_of(i + 1);
    if (begin < 0 || end < begin || end > static_cast<int64_t>(file.size())) return {};
    records.emplace_back(file.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  }
  return records;
}

// Changes one of the records, or how many there are.
void change(std::vector<std::string>& records, std::minstd_rand& random, size_t max_size) {
  const size_t i = random() % 2 == 0 ? records.size() - 1 : random() % records.size();
  if (random() % 16 == 0) {
    records.insert(records.begin() + static_cast<ptrdiff_t>(i), records[random() % records.size()]);
  } else if (random() % 16 == 0) {
    records.erase(records.begin() + static_cast<ptrdiff_t>(i));
  } else {
    std::string& record = records[i];
    const size_t size = record.size();
    record.resize(std::max(size, max_size / 2));
    record.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(record.data()), size, record.size()));
  }
}

// Makes the checksums fit.
void reseal(std::string& file) {
  const std::vector<std::string> records = split(file);
  if (records.empty()) return;
  for (size_t i = 0; i < records.size(); ++i) {
    const uint32_t crc = testing::zlib_crc32(records[i]);
    std::memcpy(file.data() + 12 + 4 * i, &crc, 4);
  }
  const uint32_t crc = testing::zlib_crc32(file.substr(4, 8 + 12 * records.size()));
  std::memcpy(file.data(), &crc, 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static testing::MemoryFile file;
  file.assign(std::as_bytes(std::span(data, size)));
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
    attempt([&] { static_cast<void>(dataset.int_column("label")); });
    static_cast<void>(dataset.shard(0).verify());
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
  std::string file(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> records = split(file);
  if (!records.empty() && random() % 4 != 0) {
    change(records, random, max_size);
    file = testing::v1_bytes(records, random() % 8 != 0);
  } else {
    file.resize(max_size);
    file.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(file.data()), size, max_size));
    if (random() % 8 != 0) reseal(file);
  }
  file.resize(std::min(file.size(), max_size));
  std::memcpy(data, file.data(), file.size());
  return file.size();
}
