// A shard of any bytes: opened, every record read, every field by its type, every column, and all of it verified. Errors are expected;
// crashes, other exceptions, leaks and large allocations are not.
#include <cstring>
#include <random>
#include <span>

#include <ffkit/format/error.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>

#include "memory_file.h"
#include "reseal.h"
#include "seeds.h"

namespace ffkit::fuzzing {
namespace {

volatile unsigned sink;

// Touches every byte, so that AddressSanitizer sees what a view covers.
void touch(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
  sink = sum;
}

template <typename Step>
void attempt(const Step& step) {
  try {
    step();
  } catch (const Error&) {
  }
}

template <typename T>
void read_scalar(const RecordView& record, size_t field) {
  const T value = record.scalar<T>(field);
  touch(std::as_bytes(std::span(&value, 1)));
}

void read_field(const RecordView& record, size_t number, const Field& field) {
  touch(record.raw(number));
  switch (field.type) {
    case FieldType::bytes:
    case FieldType::image:
      touch(record.bytes(number));
      break;
    case FieldType::string:
      touch(std::as_bytes(std::span(record.string(number))));
      break;
    case FieldType::tensor:
      touch(record.tensor(number).data);
      break;
    case FieldType::scalar:
      if (field.dtype == DType::u8) read_scalar<uint8_t>(record, number);
      if (field.dtype == DType::i16) read_scalar<int16_t>(record, number);
      if (field.dtype == DType::i64) read_scalar<int64_t>(record, number);
      if (field.dtype == DType::f32) read_scalar<float>(record, number);
      if (field.dtype == DType::f64) read_scalar<double>(record, number);
      break;
    default:
      break;
  }
}

void read_everything(const ShardReader& reader) {
  const Schema& schema = reader.schema();
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < reader.num_records(); ++i) {
    attempt([&] {
      reader.read(i, bytes);
      const RecordView record(schema, bytes);
      for (size_t field = 0; field < schema.fields.size(); ++field) {
        attempt([&] { read_field(record, field, schema.fields[field]); });
      }
    });
  }
  for (const Field& field : schema.fields) {
    attempt([&] { reader.int_column(field.name); });
    attempt([&] { reader.float_column(field.name); });
    attempt([&] { reader.string_column(field.name); });
  }
  reader.verify();
}

}  // namespace
}  // namespace ffkit::fuzzing

using namespace ffkit;
using namespace ffkit::fuzzing;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static MemoryFile file;
  file.assign(data, size);
  attempt([] { read_everything(ShardReader(file.path())); });
  return 0;
}

// Changes a part of the shard and, most of the time, makes the checksums fit again.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> shard(begin, begin + size);
  const CatalogPlace place = find_catalog(shard);
  const unsigned part = random() % 4;
  if (part == 0 && place.size > 0) {
    // The catalog, which may change its length.
    std::vector<std::byte> catalog(place.size + 256);
    std::memcpy(catalog.data(), shard.data() + place.offset, place.size);
    catalog.resize(
        LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(catalog.data()), place.size, catalog.size()));
    const auto at = shard.begin() + static_cast<ptrdiff_t>(place.offset);
    shard.erase(at, at + static_cast<ptrdiff_t>(place.size));
    shard.insert(shard.begin() + static_cast<ptrdiff_t>(place.offset), catalog.begin(),
                 catalog.end());
  } else if (part < 3 && size > 64) {
    // A few bytes in place: entries, columns, field tables.
    const size_t offset = random() % (size - 64) / 8 * 8;
    LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(shard.data()) + offset, 8u << random() % 4, 64);
  } else {
    shard.resize(max_size);
    shard.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(shard.data()), size, max_size));
  }
  if (random() % 16 != 0) {
    reseal_shard(
        shard,
        {.records = random() % 8 != 0, .pages = random() % 8 != 0, .catalog = random() % 2 != 0});
  }
  if (shard.size() > max_size) shard.resize(max_size);
  if (!shard.empty()) std::memcpy(data, shard.data(), shard.size());
  return shard.size();
}
