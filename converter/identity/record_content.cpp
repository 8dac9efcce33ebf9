#include "identity/record_content.h"

#include <algorithm>
#include <array>

#include <ffkit/base/crc32c.h>

#include "base/fnv.h"
#include "format/record/record_layout.h"
#include "storage/reader/random_reader.h"

namespace ffkit {
namespace {

bool is_file(FieldType type) {
  return type == FieldType::image || type == FieldType::bytes;
}

bool has_files(const Field& field) {
  return is_file(field.type) || (field.type == FieldType::list && is_file(field.item));
}

struct Sum {
  ContentSum of = {.num_bytes = 0, .hash = kFnvBasis};

  void add(const FileSum& file) {
    of.num_bytes += file.num_bytes;
    of.hash = fnv1a64(std::as_bytes(std::span(&file.num_bytes, 1)), of.hash);
    of.hash = fnv1a64(std::as_bytes(std::span(&file.crc32c, 1)), of.hash);
  }
};

ContentSum sum_of_all(uint64_t num_bytes, uint32_t crc) {
  Sum sum;
  sum.add({.num_bytes = num_bytes, .crc32c = crc});
  return sum.of;
}

// Calls use(file) for each file in `raw`, the bytes of a field.
template <typename Use>
void for_files(const Field& field, std::span<const std::byte> raw, const Use& use) {
  if (is_file(field.type)) return use(raw);
  const auto items = parse_list(raw);
  if (!items) throw Error(ErrorCode::corrupt, "is not a list", {.name = field.name});
  for (const std::span<const std::byte> item : *items) use(item);
}

template <typename Use>
void for_files(const Schema& schema, std::span<const std::byte> record, const Use& use) {
  const RecordView view(schema, record);
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (!has_files(schema.fields[i]) || view.is_null(i)) continue;
    for_files(schema.fields[i], view.raw(i), use);
  }
}

// What `num_bytes` zeros make of a CRC.
uint32_t behind_zeros(uint32_t crc, uint64_t num_bytes) {
  static constexpr std::array<std::byte, size_t{16} << 10> kZeros{};
  while (num_bytes > 0) {
    const auto piece = static_cast<size_t>(std::min<uint64_t>(num_bytes, kZeros.size()));
    crc = crc32c(std::span(kZeros).first(piece), crc);
    num_bytes -= piece;
  }
  return crc;
}

// The CRC of a field's bytes alone, from that in the table, which is over the field's end, too: a
// CRC is linear, so what the end has added is what it adds before zeros.
uint32_t crc_of_bytes(const FieldPlace& place) {
  const uint64_t end = place.end;
  const uint64_t num_bytes = place.end - place.begin;
  const uint32_t before = crc32c(std::as_bytes(std::span(&end, 1)));
  return place.crc32c ^ behind_zeros(before, num_bytes) ^ behind_zeros(0, num_bytes);
}

}  // namespace

bool has_files(const Schema& schema) {
  return std::ranges::any_of(schema.fields, [](const Field& field) { return has_files(field); });
}

// The file that `stored` stands for; until the next call.
std::span<const std::byte> RecordContent::file_of(std::span<const std::byte> stored) {
  if (!is_dct_picture(stored)) return stored;
  transcoder_.decode_to_jpeg(stored, jpeg_);
  return jpeg_;
}

ContentSum RecordContent::told_by_record(std::span<const std::byte> record,
                                         std::span<const SampleBuffers::Original> originals,
                                         bool& has_dct) {
  Sum sum;
  for_files(schema_, record, [&](std::span<const std::byte> stored) {
    has_dct = has_dct || is_dct_picture(stored);
    if (!originals.empty()) {
      const auto found =
          std::ranges::find(originals, file_sum(stored), &SampleBuffers::Original::stored);
      if (found != originals.end()) return sum.add(found->file);
    }
    sum.add(file_sum(file_of(stored)));
  });
  return sum.of.num_bytes > 0 ? sum.of : sum_of_all(record.size(), crc32c(record));
}

ContentSum RecordContent::kept(std::span<const std::byte> record, const SampleBuffers& buffers) {
  if (buffers.content() == ContentSum() && buffers.originals().empty()) return {};
  bool has_dct = false;
  ContentSum content = buffers.content();
  if (content == ContentSum()) content = told_by_record(record, buffers.originals(), has_dct);
  for_files(schema_, record, [&](std::span<const std::byte> stored) {
    has_dct = has_dct || is_dct_picture(stored);
  });
  if (has_dct) return content;  // it need not be made again to be compared
  return content == told_by_record(record, {}, has_dct) ? ContentSum() : content;
}

ContentSum RecordContent::told_by_table(const ShardReader& shard, int64_t record,
                                        const RecordLocation& where, bool& is_told) {
  constexpr size_t kMagicBytes = 8;
  const size_t num_fields = schema_.fields.size();
  const auto stored_bytes = static_cast<uint64_t>(where.stored_bytes);
  const auto read = [&](uint64_t begin, uint64_t num_bytes) {
    stored_.resize(num_bytes);
    const ShardReader::OpenFile file = shard.open_file(where.offset, where.stored_bytes);
    file.reader->read_at(where.offset + static_cast<int64_t>(begin), stored_);
  };
  if (stored_bytes < table_bytes(num_fields)) return {};  // damaged: reading it says how
  read(0, table_bytes(num_fields));
  const std::vector<std::byte> table = stored_;
  Sum sum;
  std::vector<std::byte> field_bytes;
  for (size_t i = 0; i < num_fields; ++i) {
    const Field& field = schema_.fields[i];
    const FieldPlace place = place_of_field(table, num_fields, i);
    if (place.begin > place.end || place.end > stored_bytes) return {};
    if (!has_files(field) || place.is_null || place.begin == place.end) continue;
    read(place.begin, std::min<uint64_t>(kMagicBytes, place.end - place.begin));
    if (is_file(field.type) && !is_dct_picture(stored_)) {
      sum.add({.num_bytes = place.end - place.begin, .crc32c = crc_of_bytes(place)});
      continue;
    }
    shard.read_field(record, i, field_bytes);
    for_files(field, field_bytes,
              [&](std::span<const std::byte> stored) { sum.add(file_sum(file_of(stored))); });
  }
  is_told = true;
  return sum.of.num_bytes > 0 ? sum.of : sum_of_all(stored_bytes, where.checksum);
}

ContentSum RecordContent::told(const ShardReader& shard, int64_t record) {
  const RecordLocation where = shard.locate(record);
  if (where.codec == Codec::none && where.checksum_type == Checksum::crc32c) {
    bool is_told = false;
    const ContentSum sum = told_by_table(shard, record, where, is_told);
    if (is_told) return sum;
  }
  bool has_dct = false;
  return told_by_record(shard.read(record, stored_, unpacker_), {}, has_dct);
}

std::vector<std::byte> RecordContent::bytes(const ShardReader& shard, int64_t record) {
  std::vector<std::byte> all;
  const std::span<const std::byte> whole = shard.read(record, stored_, unpacker_);
  uint64_t num_bytes = 0;
  for_files(schema_, whole, [&](std::span<const std::byte> stored) {
    const std::span<const std::byte> file = file_of(stored);
    const uint64_t length = file.size();
    num_bytes += length;
    const auto head = std::as_bytes(std::span(&length, 1));
    all.insert(all.end(), head.begin(), head.end());
    all.insert(all.end(), file.begin(), file.end());
  });
  if (num_bytes == 0) all.assign(whole.begin(), whole.end());
  return all;
}

}  // namespace ffkit
