#include "beton/beton_file.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "base/little_endian.h"
#include "base/printable.h"
#include "converter/input/source_error.h"
#include "format/content_kind.h"
#include "format/schema/npy_header.h"

namespace ffkit {
namespace {

constexpr size_t kBetonHeaderBytes = 24;
constexpr size_t kBetonNameBytes = 16;
constexpr size_t kBetonArgumentBytes = 1024;
constexpr size_t kBetonFieldBytes = 1 + kBetonNameBytes + kBetonArgumentBytes;
constexpr size_t kBetonAllocationBytes = 24;
constexpr uint16_t kBetonVersion = 2;
constexpr size_t kMostBetonFields = 4096;
constexpr size_t kMostDimensions = 32;  // of NumPy when the format was made

// Of what a field has in a row: bytes, and what its offset is a multiple of. NumPy aligns numbers
// and packs structures.
struct BetonLayout {
  size_t num_bytes = 0;
  size_t alignment = 1;
};

BetonLayout layout_of(BetonType type) {
  switch (type) {
    case BetonType::image:
      return {.num_bytes = 13};  // u8 mode, u16 width, u16 height, u64 place
    case BetonType::bytes:
    case BetonType::json:
      return {.num_bytes = 16};  // u64 place, u64 size
    default:
      return {.num_bytes = 8, .alignment = 8};
  }
}

size_t aligned(size_t offset, size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

// [["", "<f4"]], as json.dumps(dtype.descr) gives it.
DType dtype_of_json(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::array types;
  simdjson::dom::array pair;
  std::string_view descr;
  const simdjson::padded_string padded(text);
  if (parser.parse(padded).get_array().get(types) != simdjson::SUCCESS || types.size() != 1 ||
      types.at(0).get_array().get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
      pair.at(1).get_string().get(descr) != simdjson::SUCCESS) {
    throw error_of(ErrorCode::unsupported,
                   "the NumPy type '{}' of the field is not a type of single numbers",
                   printable(text.substr(0, 100)));
  }
  return dtype_of_numpy(descr);
}

// Of an array: u64 shape[32], u64 length, the type's description of that length.
void read_array_arguments(std::span<const std::byte> arguments, BetonField& field) {
  for (size_t i = 0; i < kMostDimensions; ++i) {
    const auto size = load_le<uint64_t>(arguments.data() + i * sizeof(uint64_t));
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw error_of(ErrorCode::corrupt, "an axis of its shape has the size {}, which is too large",
                     size);
    }
    field.shape.push_back(static_cast<int64_t>(size));
  }
  // FFCV fills the shape up with zeros.
  while (!field.shape.empty() && field.shape.back() == 0) field.shape.pop_back();
  const std::span<const std::byte> rest = arguments.subspan(kMostDimensions * sizeof(uint64_t));
  const auto length = load_le<uint64_t>(rest.data());
  const std::span<const std::byte> text = rest.subspan(sizeof(uint64_t));
  if (length > text.size()) {
    throw error_of(ErrorCode::corrupt,
                   "the description of its type has {} bytes, but at most {} bytes are possible",
                   length, text.size());
  }
  field.dtype = dtype_of_json({reinterpret_cast<const char*>(text.data()), length});
}

// Bytes of an array; throws where they are more than `most`.
uint64_t array_bytes(const BetonField& field, uint64_t most) {
  uint64_t num_bytes = size_of(field.dtype);
  for (const int64_t size : field.shape) {
    if (__builtin_mul_overflow(num_bytes, static_cast<uint64_t>(size), &num_bytes)) {
      num_bytes = most + 1;
      break;
    }
  }
  if (num_bytes > most) {
    throw Error(ErrorCode::corrupt, "the arrays of the field are larger than the file");
  }
  return num_bytes;
}

// Of a file that does not begin as one of the version that is read.
Error no_beton_error(const fs::path& path, std::span<const std::byte> head, bool is_other_version,
                     uint16_t version) {
  const ContentKind kind = content_kind(head);
  if (kind != ContentKind::unknown) {
    return source_error(path, ErrorCode::unsupported, "the file is {}, not a beton file of FFCV",
                        content_name(kind));
  }
  if (is_other_version) {
    return source_error(path, ErrorCode::unsupported,
                        "the file is a beton file of version {}, but ffkit reads version {}; write "
                        "the file again with FFCV 1.0",
                        version, kBetonVersion);
  }
  return source_error(path, ErrorCode::unsupported, "the file is not a beton file of FFCV");
}

}  // namespace

BetonFile::BetonFile(const fs::path& path, int64_t num_bytes, const ReadBytes& read)
    : num_bytes_(num_bytes) {
  std::array<std::byte, kContentHeadBytes> head{};
  const auto start =
      std::span(head).first(static_cast<size_t>(std::min<int64_t>(num_bytes, std::ssize(head))));
  read(0, start);
  const auto version = load_le<uint16_t>(head.data());
  const auto num_fields = load_le<uint16_t>(head.data() + 2);
  const auto page_bytes = load_le<uint32_t>(head.data() + 4);
  constexpr uint32_t kLeastPage = 1U << 21;  // as FFCV's writer requires it
  const bool is_beton = start.size() >= kBetonHeaderBytes && num_fields > 0 &&
                        num_fields <= kMostBetonFields && std::has_single_bit(page_bytes) &&
                        page_bytes >= kLeastPage;
  if (!is_beton || version != kBetonVersion) {
    throw no_beton_error(path, start, is_beton, version);
  }
  const auto num_samples = load_le<uint64_t>(head.data() + 8);
  const auto allocations = load_le<uint64_t>(head.data() + 16);
  if (allocations == 0) {
    throw source_error(
        path, ErrorCode::corrupt,
        "the file is incomplete: it has no table of allocations; write the file again");
  }
  if (allocations > static_cast<uint64_t>(num_bytes)) {
    throw source_error(path, ErrorCode::corrupt,
                       "the file is cut short: its table of allocations begins at byte {}, but the "
                       "file has only {} bytes; get the file again",
                       allocations, num_bytes);
  }
  const size_t rows_at = kBetonHeaderBytes + num_fields * kBetonFieldBytes;
  if (rows_at > allocations) {
    throw source_error(
        path, ErrorCode::corrupt,
        "the file is damaged: its header says {} fields, but they do not fit into the file",
        num_fields);
  }
  read_fields(path, num_fields, read);
  if (num_samples > (allocations - rows_at) / row_bytes_) {
    throw source_error(
        path, ErrorCode::corrupt,
        "the file is damaged: its header says {} samples, but their rows do not fit into the file",
        num_samples);
  }
  num_samples_ = static_cast<int64_t>(num_samples);
  rows_.resize(num_samples * row_bytes_);
  read(static_cast<int64_t>(rows_at), rows_);
  read_allocations(path, allocations, read);
}

void BetonFile::read_fields(const fs::path& path, size_t num_fields, const ReadBytes& read) {
  std::vector<std::byte> descriptors(num_fields * kBetonFieldBytes);
  read(kBetonHeaderBytes, descriptors);
  size_t alignment = 1;
  for (size_t i = 0; i < num_fields; ++i) {
    const auto bytes =
        std::span<const std::byte>(descriptors).subspan(i * kBetonFieldBytes, kBetonFieldBytes);
    const auto name = bytes.subspan(1, kBetonNameBytes);
    const auto* const text = reinterpret_cast<const char*>(name.data());
    BetonField field{.name = std::string(text, strnlen(text, kBetonNameBytes))};
    const auto type = static_cast<uint8_t>(bytes[0]);
    if (type > static_cast<uint8_t>(BetonType::tensor)) {
      throw source_error(path, ErrorCode::unsupported,
                         "field '{}' has the type {}, which FFCV does not define; write the file "
                         "without this field",
                         printable(field.name), type);
    }
    // FFCV's numbers: float, int, RGB image, bytes, array, JSON, tensor.
    field.type = static_cast<BetonType>(type);
    if (field.type == BetonType::array || field.type == BetonType::tensor) {
      try {
        read_array_arguments(bytes.last(kBetonArgumentBytes), field);
        array_bytes(field, static_cast<uint64_t>(num_bytes_));
      } catch (const Error& error) {
        throw source_error(path, error.code(), "field '{}': {}", printable(field.name),
                           error.message());
      }
    }
    const BetonLayout layout = layout_of(field.type);
    alignment = std::max(alignment, layout.alignment);
    field.offset = aligned(row_bytes_, layout.alignment);
    row_bytes_ = field.offset + layout.num_bytes;
    fields_.push_back(std::move(field));
  }
  row_bytes_ = aligned(row_bytes_, alignment);
}

void BetonFile::read_allocations(const fs::path& path, uint64_t place, const ReadBytes& read) {
  const bool has_images =
      std::ranges::any_of(fields_, [](const BetonField& f) { return f.type == BetonType::image; });
  if (!has_images) return;  // All others know their length.
  const uint64_t num_bytes = static_cast<uint64_t>(num_bytes_) - place;
  if (num_bytes % kBetonAllocationBytes != 0) {
    throw source_error(path, ErrorCode::corrupt,
                       "the file is cut short: its table of allocations ends in the middle of an "
                       "entry; get the file again");
  }
  constexpr uint64_t kTableBlockBytes = kBetonAllocationBytes << 16;
  std::vector<std::byte> block;
  allocations_.reserve(num_bytes / kBetonAllocationBytes);
  for (uint64_t done = 0; done < num_bytes; done += block.size()) {
    block.resize(std::min(kTableBlockBytes, num_bytes - done));
    read(static_cast<int64_t>(place + done), block);
    for (size_t i = 0; i < block.size(); i += kBetonAllocationBytes) {
      allocations_.push_back({.place = load_le<uint64_t>(block.data() + i + 8),
                              .num_bytes = load_le<uint64_t>(block.data() + i + 16)});
    }
  }
  std::ranges::sort(allocations_);
}

FileRange BetonFile::range(uint64_t place, uint64_t num_bytes) const {
  const auto end = static_cast<uint64_t>(num_bytes_);
  if (num_bytes == 0) return {};  // FFCV's place of no bytes may be any.
  if (place > end || num_bytes > end - place) {
    throw error_of(
        ErrorCode::corrupt,
        "the value has {} bytes from byte {} on, but the file has {} bytes; get the file again",
        num_bytes, place, num_bytes_);
  }
  return {static_cast<int64_t>(place), static_cast<int64_t>(num_bytes)};
}

uint64_t BetonFile::allocated(uint64_t place) const {
  // The longest one there: those of no bytes have the place of what follows.
  const auto next = std::ranges::upper_bound(allocations_, place, {}, &Allocation::place);
  if (next == allocations_.begin() || std::prev(next)->place != place) {
    throw error_of(ErrorCode::corrupt,
                   "the value begins at byte {}, but the table of allocations has no entry for "
                   "this byte; get the file again",
                   place);
  }
  return std::prev(next)->num_bytes;
}

BetonValue BetonFile::value(int64_t sample, size_t field) const {
  const BetonField& of = fields_.at(field);
  const std::byte* const at = rows_.data() + static_cast<size_t>(sample) * row_bytes_ + of.offset;
  BetonValue value;
  switch (of.type) {
    case BetonType::real:
    case BetonType::integer:
      value.bits = load_le<uint64_t>(at);
      return value;
    case BetonType::bytes:
    case BetonType::json:
      value.data = range(load_le<uint64_t>(at), load_le<uint64_t>(at + 8));
      return value;
    case BetonType::array:
    case BetonType::tensor:
      value.data = range(load_le<uint64_t>(at), array_bytes(of, static_cast<uint64_t>(num_bytes_)));
      return value;
    case BetonType::image:
      break;
  }
  const auto mode = static_cast<uint8_t>(*at);
  const auto place = load_le<uint64_t>(at + 5);
  value.width = load_le<uint16_t>(at + 1);
  value.height = load_le<uint16_t>(at + 3);
  if (mode > 1 || value.width == 0 || value.height == 0) {
    throw error_of(ErrorCode::corrupt,
                   "the value is a picture of {} x {} pixels in the mode {}, but FFCV cannot write "
                   "such a picture; get the file again",
                   value.width, value.height, mode);
  }
  value.is_raw = mode == 1;
  value.data = range(place, allocated(place));
  const int64_t raw_bytes = int64_t{3} * value.width * value.height;
  if (value.is_raw && value.data.num_bytes != raw_bytes) {
    throw error_of(ErrorCode::corrupt, "the picture has {} bytes, but {} x {} pixels need {} bytes",
                   value.data.num_bytes, value.width, value.height, raw_bytes);
  }
  return value;
}

}  // namespace ffkit
