#include "lmdb/datum.h"

#include <algorithm>

namespace ffkit {
namespace {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

class DatumReader {
 public:
  DatumReader(int64_t num_bytes, const DatumBytes& bytes, std::vector<std::byte>* floats)
      : num_bytes_(num_bytes), bytes_(bytes), floats_(floats) {}

  bool read() {
    while (at_ < num_bytes_) {
      const auto tag = varint();
      if (!tag || !read_field(*tag >> 3, static_cast<WireType>(*tag & 7))) return false;
    }
    return true;
  }

  Datum datum;

 private:
  bool read_field(uint64_t number, WireType type) {
    if (number == 0) return false;
    switch (type) {
      case WireType::varint: {
        const auto value = varint();
        return value && set_number(number, *value);
      }
      case WireType::bytes: {
        const auto length = varint();
        if (!length || *length > static_cast<uint64_t>(num_bytes_ - at_)) return false;
        const FileRange range{at_, static_cast<int64_t>(*length)};
        at_ += range.num_bytes;
        return set_bytes(number, range);
      }
      case WireType::fixed32:
        return pass(4) && (number > 7 || (number == 6 && add_floats({at_ - 4, 4})));
      case WireType::fixed64:
        return pass(8) && number > 7;
    }
    return false;
  }

  bool set_number(uint64_t number, uint64_t value) {
    // int32 is sign-extended to 64 bits.
    const auto number32 = static_cast<int64_t>(static_cast<int32_t>(value));
    switch (number) {
      case 1:
        datum.channels = number32;
        return true;
      case 2:
        datum.height = number32;
        return true;
      case 3:
        datum.width = number32;
        return true;
      case 5:
        datum.label = number32;
        return true;
      case 7:
        datum.is_encoded = value != 0;
        return true;
      default:
        return number > 7;
    }
  }

  bool set_bytes(uint64_t number, FileRange range) {
    if (number == 4) datum.data = range;
    if (number == 6) return add_floats(range);
    return number == 4 || number > 7;
  }

  bool add_floats(FileRange range) {
    constexpr int64_t kFloatBytes = 4;
    if (range.num_bytes % kFloatBytes != 0) return false;
    if (floats_ != nullptr) {
      const auto numbers = bytes_(range.offset, static_cast<size_t>(range.num_bytes));
      floats_->insert(floats_->end(), numbers.begin(), numbers.end());
    }
    datum.num_floats += range.num_bytes / kFloatBytes;
    return true;
  }

  bool pass(int64_t num_bytes) {
    if (num_bytes > num_bytes_ - at_) return false;
    at_ += num_bytes;
    return true;
  }

  std::optional<uint64_t> varint() {
    constexpr size_t kMostVarintBytes = 10;
    const auto bytes = bytes_(at_, kMostVarintBytes);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = std::to_integer<uint64_t>(bytes[i]);
      value |= (byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        at_ += static_cast<int64_t>(i) + 1;
        return value;
      }
    }
    return std::nullopt;
  }

  const int64_t num_bytes_;
  const DatumBytes& bytes_;
  std::vector<std::byte>* const floats_;
  int64_t at_ = 0;
};

}  // namespace

bool Datum::is_whole() const {
  if (is_encoded) return data.num_bytes > 0;
  if (channels <= 0 || height <= 0 || width <= 0) return false;
  int64_t count = 0;
  if (__builtin_mul_overflow(channels, height, &count) ||
      __builtin_mul_overflow(count, width, &count)) {
    return false;
  }
  return data.num_bytes > 0 ? data.num_bytes == count && num_floats == 0 : num_floats == count;
}

std::optional<Datum> read_datum(int64_t num_bytes, const DatumBytes& bytes,
                                std::vector<std::byte>* floats) {
  DatumReader reader(num_bytes, bytes, floats);
  if (!reader.read()) return std::nullopt;
  return reader.datum;
}

}  // namespace ffkit
