#include "lmdb/lmdb_values.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "format/content_kind.h"

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
    if (number == 1) datum.channels = number32;
    if (number == 2) datum.height = number32;
    if (number == 3) datum.width = number32;
    if (number == 5) datum.label = number32;
    if (number == 7) datum.is_encoded = value != 0;
    return number != 4 && number != 6;
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

LmdbContent content_of(const Datum& datum) {
  if (datum.is_encoded) return LmdbContent::datum_picture;
  if (datum.data.num_bytes == 0) return LmdbContent::datum_floats;
  return datum.channels == 1 || datum.channels == 3 ? LmdbContent::datum_picture
                                                    : LmdbContent::datum_bytes;
}

// Planes [3, height, width] as a PPM, one plane as a grey PNG.
std::span<const std::byte> picture_of_planes(std::span<const std::byte> planes, const Datum& datum,
                                             PlaneOrder order, SampleBuffers& buffers) {
  constexpr int64_t kMostPixels = 1'000'000;  // each way, as of a PNG
  if (datum.width > kMostPixels || datum.height > kMostPixels) {
    throw error_of(ErrorCode::unsupported, "has {} x {} pixels; at most {} per side are supported",
                   datum.width, datum.height, kMostPixels);
  }
  const int width = static_cast<int>(datum.width);
  const int height = static_cast<int>(datum.height);
  std::vector<std::byte>& picture = buffers.array();
  if (datum.channels == 1) {
    picture = encode_mask_png({.data = planes.data(),
                               .dtype = DType::u8,
                               .width = width,
                               .height = height,
                               .stride = width});
    return picture;
  }
  const size_t num_pixels = planes.size() / 3;
  const std::span<std::byte> pixels = buffers.bytes(planes.size());
  for (size_t channel = 0; channel < 3; ++channel) {
    const size_t plane = order == PlaneOrder::bgr ? 2 - channel : channel;
    const std::byte* const from = planes.data() + plane * num_pixels;
    for (size_t i = 0; i < num_pixels; ++i) pixels[3 * i + channel] = from[i];
  }
  encode_ppm({.data = reinterpret_cast<const uint8_t*>(pixels.data()),
              .width = width,
              .height = height,
              .stride = 3 * width},
             picture);
  return picture;
}

constexpr std::string_view kBookkeepingKeys =
    "__len__ __keys__ __classes__ num-samples num_samples length len keys meta";

struct MemberKey {
  std::string_view word;
  std::string_view number;
};

// Of "image-000000001", "000000001.jpg".
std::optional<MemberKey> member_key(std::string_view key) {
  const auto are_digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const auto is_word = [](std::string_view text) {
    return !text.empty() && text.find_first_of("0123456789-_.:/ ") == std::string_view::npos;
  };
  constexpr std::string_view kSeparators = "-_.:/ ";
  const size_t separator = key.find_first_of(kSeparators);
  if (separator == std::string_view::npos) return std::nullopt;
  const std::string_view left = key.substr(0, separator);
  const std::string_view right = key.substr(separator + 1);
  if (is_word(left) && are_digits(right)) return MemberKey{left, right};
  if (are_digits(left) && is_word(right)) return MemberKey{right, left};
  return std::nullopt;
}

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

LmdbValueFacts facts_of_lmdb_value(int64_t num_bytes, const DatumBytes& bytes) {
  const ContentKind kind = content_kind(bytes(0, kContentHeadBytes));
  if (is_picture(kind)) return {.content = LmdbContent::picture};
  const std::optional<Datum> datum = num_bytes > 0 ? read_datum(num_bytes, bytes) : std::nullopt;
  if (datum && datum->is_whole()) {
    return {.content = content_of(*datum),
            .has_label = datum->label.has_value(),
            .is_raw = !datum->is_encoded};
  }
  if (kind == ContentKind::pickle) return {.content = LmdbContent::pickle};
  return {};
}

void set_datum(std::span<const std::byte> message, LmdbContent content, PlaneOrder order,
               RowValue& value, RowValue* label, SampleBuffers& buffers) {
  const DatumBytes bytes = [&](int64_t offset, size_t count) {
    const auto rest = message.subspan(static_cast<size_t>(offset));
    return rest.first(std::min(count, rest.size()));
  };
  std::vector<std::byte>& floats = buffers.array();
  floats.clear();
  const std::optional<Datum> datum = read_datum(std::ssize(message), bytes, &floats);
  if (!datum || !datum->is_whole()) {
    throw Error(ErrorCode::corrupt,
                "the value is not a Datum of Caffe, or is a Datum with a shape that does not match "
                "its numbers");
  }
  if (content_of(*datum) != content) {
    throw error_of(ErrorCode::corrupt, "the value is a Datum with {}, but the other values have {}",
                   content_of(*datum) == LmdbContent::datum_picture ? "a picture" : "an array",
                   content == LmdbContent::datum_picture ? "pictures" : "other arrays");
  }
  if (label != nullptr && datum->label) label->set_scalar(*datum->label);
  const auto data = message.subspan(static_cast<size_t>(datum->data.offset),
                                    static_cast<size_t>(datum->data.num_bytes));
  if (datum->is_encoded) return value.set_bytes(data);
  if (content == LmdbContent::datum_picture) {
    return value.set_bytes(picture_of_planes(data, *datum, order, buffers));
  }
  const bool is_floats = content == LmdbContent::datum_floats;
  value.set_tensor({is_floats ? DType::f32 : DType::u8,
                    {datum->channels, datum->height, datum->width},
                    is_floats ? std::span<const std::byte>(floats) : data});
}

bool is_bookkeeping(std::string_view key) {
  return has_word(kBookkeepingKeys, key);
}

std::optional<LmdbMembers> find_lmdb_members(const LmdbRowsOfFiles& rows) {
  struct Word {
    int64_t num_values = 0;
    int64_t num_pictures = 0;
  };
  std::map<std::string, Word, std::less<>> words;
  for (const auto& split : rows) {
    for (const auto& file : split) {
      for (const LmdbRow& row : file) {
        if (is_bookkeeping(row.id)) continue;
        const auto key = member_key(row.id);
        if (!key) return std::nullopt;
        constexpr size_t kMostWords = 16;
        auto word = words.find(key->word);
        if (word == words.end()) word = words.try_emplace(std::string(key->word)).first;
        if (words.size() > kMostWords) return std::nullopt;
        ++word->second.num_values;
        if (row.facts.content == LmdbContent::picture) ++word->second.num_pictures;
      }
    }
  }
  LmdbMembers members;
  for (const auto& [name, word] : words) {
    if (2 * word.num_pictures > word.num_values) {
      if (!members.picture.empty()) return std::nullopt;
      members.picture = name;
    } else if (word.num_pictures == 0) {
      members.others.push_back(name);
    } else {
      return std::nullopt;
    }
  }
  if (members.picture.empty() || members.others.empty()) return std::nullopt;
  int64_t num_pictures = 0;
  int64_t num_joined = 0;
  for (const auto& split : rows) {
    for (const auto& file : split) {
      for (const LmdbMemberRow& row : join_lmdb_members(file, members)) {
        if (!row.picture) continue;
        ++num_pictures;
        num_joined +=
            std::ranges::any_of(row.others, [](const auto& one) { return one.has_value(); });
      }
    }
  }
  if (2 * num_joined < num_pictures) return std::nullopt;
  return members;
}

std::vector<LmdbMemberRow> join_lmdb_members(const std::vector<LmdbRow>& rows,
                                             const LmdbMembers& members) {
  std::vector<LmdbMemberRow> joined;
  std::map<std::string_view, size_t> numbers;
  const auto row_of = [&](std::string_view number) -> LmdbMemberRow& {
    const auto [at, is_new] = numbers.try_emplace(number, joined.size());
    if (is_new) {
      joined.push_back({.id = std::string(number), .picture = {}, .others = {}});
      joined.back().others.resize(members.others.size());
    }
    return joined[at->second];
  };
  for (const LmdbRow& row : rows) {
    const auto key = member_key(row.id);
    if (key && key->word == members.picture) row_of(key->number).picture = row.value;
  }
  for (const LmdbRow& row : rows) {
    const auto key = member_key(row.id);
    if (!key || key->word == members.picture) continue;
    const auto word = std::ranges::find(members.others, key->word);
    if (word == members.others.end()) continue;
    const auto number = static_cast<size_t>(word - members.others.begin());
    row_of(key->number).others[number] = row.value;
  }
  return joined;
}

}  // namespace ffkit
