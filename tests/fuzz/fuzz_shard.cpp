// A shard of any bytes: opened, every record read, whole and field by field, every column, a
// filter, and all of it verified. Errors are expected; crashes, other exceptions, contradictions,
// leaks and large allocations are not.
#include <random>

#include <ffkit/format/filter.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>

#include "format/shard/shard_layout.h"
#include "memory_file.h"
#include "seeds/reseal.h"
#include "seeds/seeds.h"
#include "touch.h"

namespace ffkit::fuzzing {
namespace {

void look_at(const ListView& list, FieldType item) {
  for (size_t i = 0; i < list.size(); ++i) {
    attempt([&] {
      if (item == FieldType::string) {
        touch(std::as_bytes(std::span(list.string(i))));
      } else if (item == FieldType::tensor) {
        touch(list.tensor(i).data);
      } else {
        touch(list.bytes(i));
      }
    });
  }
}

void look_at(const FieldView& view, const Field& field) {
  touch(view.raw());
  switch (field.type) {
    case FieldType::bytes:
    case FieldType::image:
      touch(view.bytes());
      break;
    case FieldType::string:
      touch(std::as_bytes(std::span(view.string())));
      break;
    case FieldType::tensor:
      touch(view.tensor().data);
      break;
    case FieldType::list:
      look_at(view.list(), field.item);
      break;
    case FieldType::scalar: {
      const uint64_t bits = view.scalar_bits(field.dtype);
      touch(std::as_bytes(std::span(&bits, 1)));
      break;
    }
  }
}

// Reads a record as a whole and field by field, which must not contradict each other.
void read_record(const ShardReader& reader, int64_t i) {
  const std::vector<Field>& fields = reader.schema().fields;
  std::vector<std::byte> bytes;
  std::optional<RecordView> record;
  attempt([&] {
    reader.read(i, bytes);
    record.emplace(reader.schema(), bytes);
  });
  std::vector<std::byte> alone;
  for (size_t f = 0; f < fields.size(); ++f) {
    if (record) attempt([&] { look_at(record->field(f), fields[f]); });
    attempt([&] {
      const bool is_null = !reader.read_field(i, f, alone);
      if (is_null && !alone.empty()) std::abort();
      attempt([&] { look_at(FieldView(fields[f], alone, is_null), fields[f]); });
      if (record && (record->is_null(f) != is_null || !std::ranges::equal(record->raw(f), alone))) {
        std::abort();
      }
    });
  }
  static_cast<void>(reader.verify_record(i));
}

void read_everything(const ShardReader& reader, std::string_view filter, size_t file_bytes) {
  // A few bytes may honestly claim 1 GiB (FORMAT.md, "Compression"), and many entries the same
  // bytes: reading them all shows nothing but a slow target.
  int64_t budget = 4 << 20;
  const int64_t fewest_bytes = reader.facts().version == 1 ? 0 : 1;
  for (int64_t i = 0; i < reader.num_records(); ++i) {
    attempt([&] {
      const RecordLocation where = reader.locate(i);
      const auto end = static_cast<uint64_t>(where.offset + where.stored_bytes);
      if (where.offset < 0 || where.stored_bytes < fewest_bytes || end > file_bytes ||
          where.raw_bytes / 32768 > where.stored_bytes || where.raw_bytes > 1 << 30) {
        std::abort();
      }
      if (where.raw_bytes > budget) return;
      budget -= where.raw_bytes;
      read_record(reader, i);
    });
  }
  for (const Field& field : reader.schema().fields) {
    attempt([&] { static_cast<void>(reader.int_column(field.name)); });
    attempt([&] { static_cast<void>(reader.uint_column(field.name)); });
    attempt([&] { static_cast<void>(reader.float_column(field.name)); });
    // The name of any field is one that the parser takes for it.
    const Filter own = parse_filter(filter_word(field.name) + " == 0");
    if (own.conditions.size() != 1 || own.conditions[0].field != field.name) std::abort();
    attempt([&] { static_cast<void>(reader.string_column(field.name)); });
  }
  attempt([&] {
    const auto found = matching_records(reader, parse_filter(filter));
    if (!std::ranges::is_sorted(found) || (!found.empty() && found.back() >= reader.num_records()))
      std::abort();
  });
  static_cast<void>(reader.verify_index());
}

// The text of the filter in a shard's header; see reseal.h.
std::string_view filter_of(std::span<const uint8_t> shard) {
  if (shard.size() < kFilterPlace.offset + kFilterPlace.size) return {};
  const auto* const text = reinterpret_cast<const char*>(shard.data()) + kFilterPlace.offset;
  return {text, strnlen(text, kFilterPlace.size)};
}

// Changes a few bytes within `place`.
void change_within(std::vector<std::byte>& shard, const Place& place, std::minstd_rand& random) {
  const size_t size = std::min<size_t>(place.size, size_t{1} << random() % 7);
  const size_t offset = place.offset + random() % (place.size - size + 1);
  LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(shard.data()) + offset, size, size);
}

// Changes the catalog, whose length may be another then.
void change_catalog(std::vector<std::byte>& shard, const Place& place) {
  std::vector<std::byte> catalog(place.size + 256);
  std::memcpy(catalog.data(), shard.data() + place.offset, place.size);
  catalog.resize(
      LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(catalog.data()), place.size, catalog.size()));
  const auto at = shard.begin() + static_cast<ptrdiff_t>(place.offset);
  shard.insert(shard.erase(at, at + static_cast<ptrdiff_t>(place.size)), catalog.begin(),
               catalog.end());
}

}  // namespace
}  // namespace ffkit::fuzzing

using namespace ffkit;
using namespace ffkit::fuzzing;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static testing::MemoryFile file;
  const std::span input(data, size);
  file.assign(std::as_bytes(input));
  attempt([&] { read_everything(ShardReader(file.path()), filter_of(input), size); });
  return 0;
}

// Changes a part of the shard and, most of the time, makes the checksums fit again.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> shard(begin, begin + size);
  const unsigned choice = random() % 16;
  const Place catalog = find_catalog(shard);
  const std::vector<Place> parts = choice < 10 ? find_parts(shard) : std::vector<Place>();
  if (!parts.empty()) {
    change_within(shard, parts[random() % parts.size()], random);
  } else if (choice < 13 && catalog.size > 0) {
    change_catalog(shard, catalog);
  } else if (choice == 13 && size > kHeaderBytes) {
    uint8_t* const filter = reinterpret_cast<uint8_t*>(shard.data()) + kFilterPlace.offset;
    const size_t length = LLVMFuzzerMutate(filter, filter_of({data, size}).size(), 255);
    std::fill(filter + length, filter + kFilterPlace.size, uint8_t{0});
  } else if (choice == 14 && size > 0) {
    change_within(shard, {.offset = 0, .size = size}, random);
  } else {
    shard.resize(max_size);
    shard.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(shard.data()), size, max_size));
  }
  if (random() % 16 != 0) {
    reseal_shard(shard, {.records = random() % 8 != 0,
                         .fields = random() % 8 != 0,
                         .pages = random() % 8 != 0,
                         .catalog = random() % 2 != 0});
  }
  if (shard.size() > max_size) shard.resize(max_size);
  if (!shard.empty()) std::memcpy(data, shard.data(), shard.size());
  return shard.size();
}
