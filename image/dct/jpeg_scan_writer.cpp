#include "dct/jpeg_scan_writer.h"

#include <bit>
#include <cstdlib>
#include <cstring>

#include "jpeg/jpeg_bits.h"

namespace ffkit {
namespace {

constexpr unsigned kLengthBits = 5;
constexpr uint32_t kLengthMask = (1U << kLengthBits) - 1;
constexpr int kMaxSmall = 32;
// Instead of a code where there is none. It has a length, so that writing it does no harm.
constexpr uint32_t kNoCode = 1U << 31 | 1;
constexpr uint64_t kNoCodeAndBits = uint64_t{1} << 63 | 1;

// A block takes at most 64 codes of 16 bits and values of 15.
constexpr size_t kMaxBlockBytes = 64 * (16 + 15) / 8 + 16;

}  // namespace

void JpegScanWriter::Codes::build(const JHUFF_TBL& table) {
  of_symbol.fill(kNoCode);
  uint32_t code = 0;
  size_t i = 0;
  for (uint32_t length = 1; length <= 16; ++length, code <<= 1) {
    for (int n = 0; n < table.bits[length]; ++n, ++code, ++i) {
      // As libjpeg's encoder: a symbol with two codes has the last one.
      of_symbol[table.huffval[i]] = code << kLengthBits | length;
    }
  }
}

// The code of a run and a coefficient, and behind it the coefficient's bits; 33 bits at most with
// the length.
uint64_t JpegScanWriter::with_bits(const std::array<uint32_t, 256>& codes, unsigned run,
                                   int value) {
  const auto size = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(std::abs(value))));
  const uint32_t code = codes[run << 4 | size];
  if (code == kNoCode) return kNoCodeAndBits;
  // Of a negative value the bits of the one below, as many as it has (T.81, F.1.2.1).
  const uint32_t bits = static_cast<uint32_t>(value + (value >> 31)) & ((1U << size) - 1);
  return (uint64_t{code >> kLengthBits} << size | bits) << kLengthBits |
         ((code & kLengthMask) + size);
}

void JpegScanWriter::SmallCodes::build(const Codes& codes) {
  for (unsigned run = 0; run < 16; ++run) {
    for (uint32_t i = 0; i < 2U * kMaxSmall; ++i) {
      const uint64_t code = with_bits(codes.of_symbol, run, static_cast<int>(i) - kMaxSmall);
      of_coefficient[2U * kMaxSmall * run + i] =
          code == kNoCodeAndBits ? kNoCode : static_cast<uint32_t>(code);
    }
  }
}

// Where bits go; a copy of the writer's, which stays in registers for a block.
struct JpegScanWriter::Output {
  uint64_t window;    // the last bits, less than a byte of them, in its highest
  unsigned num_bits;  // of window
  std::byte* next;

  // At most 56 bits, which nothing else is set in. Writes 8 bytes each time, of which the next call
  // may overwrite some: that takes no branch.
  void put(uint64_t bits, unsigned count) {
    num_bits += count;
    window |= bits << (64 - num_bits);
    const uint64_t swapped = __builtin_bswap64(window);
    std::memcpy(next, &swapped, sizeof(swapped));
    next += num_bits / 8;
    window <<= num_bits & ~7U;
    num_bits %= 8;
  }
};

void JpegScanWriter::begin(const JpegHead& head) {
  for (size_t c = 0; c < head.geometry().num_components; ++c) {
    dc_codes_[c].build(head.dc_table(c));
    ac_codes_[c].build(head.ac_table(c));
    small_codes_[c].build(ac_codes_[c]);
  }
  last_dc_ = {};
  used_ = 0;
  window_ = 0;
  num_bits_ = 0;
}

bool JpegScanWriter::write_block(size_t component, const int16_t* block, uint64_t places) {
  if (scan_.size() - used_ < kMaxBlockBytes) scan_.resize(2 * scan_.size() + kMaxBlockBytes);
  Output out{window_, num_bits_, scan_.data() + used_};

  const int difference = block[0] - last_dc_[component];
  last_dc_[component] = block[0];
  const auto dc_size =
      static_cast<unsigned>(std::bit_width(static_cast<unsigned>(std::abs(difference))));
  const uint32_t dc_code = dc_codes_[component].of_symbol[dc_size];
  if (dc_code == kNoCode) return false;
  const uint32_t dc_bits =
      static_cast<uint32_t>(difference + (difference >> 31)) & ((1U << dc_size) - 1);
  out.put(uint64_t{dc_code >> kLengthBits} << dc_size | dc_bits, (dc_code & kLengthMask) + dc_size);

  const std::array<uint32_t, 256>& codes = ac_codes_[component].of_symbol;
  const std::array<uint32_t, 16 * 64>& small_codes = small_codes_[component].of_coefficient;
  unsigned last = 0;
  uint32_t all = 0;  // codes, ored: bit 31 says that one of them is none

  for (places &= ~uint64_t{1}; places != 0; places &= places - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(places));
    unsigned run = place - last - 1;
    last = place;
    for (; run > 15; run -= 16) {
      all |= codes[0xF0];
      out.put(codes[0xF0] >> kLengthBits, codes[0xF0] & kLengthMask);
    }
    const int value = block[kNaturalOrder[place]];
    const auto small = static_cast<uint32_t>(value + kMaxSmall);
    if (small < 2U * kMaxSmall) {
      const uint32_t code = small_codes[2U * kMaxSmall * run + small];
      all |= code;
      out.put(code >> kLengthBits, code & kLengthMask);
    } else {
      const uint64_t code = with_bits(codes, run, value);
      all |= code == kNoCodeAndBits ? kNoCode : 0;
      out.put(code << 1 >> (kLengthBits + 1), static_cast<unsigned>(code & kLengthMask));
    }
  }
  if (last < 63) {
    all |= codes[0];
    out.put(codes[0] >> kLengthBits, codes[0] & kLengthMask);
  }
  window_ = out.window;
  num_bits_ = out.num_bits;
  used_ = static_cast<size_t>(out.next - scan_.data());
  return all >> 31 == 0;
}

bool JpegScanWriter::finish(uint8_t padding, std::vector<std::byte>& out) {
  const unsigned missing = (8 - num_bits_) % 8;
  if (padding >> missing != 0) return false;
  if (missing > 0) {
    scan_[used_++] = static_cast<std::byte>(window_ >> 56 | padding);
  }
  // A byte 00 follows each FF.
  const std::byte* in = scan_.data();
  const std::byte* const end = in + used_;
  while (in < end) {
    const auto* found =
        static_cast<const std::byte*>(std::memchr(in, 0xFF, static_cast<size_t>(end - in)));
    if (found == nullptr) {
      out.insert(out.end(), in, end);
      break;
    }
    out.insert(out.end(), in, found + 1);
    out.push_back(std::byte{0});
    in = found + 1;
  }
  return true;
}

}  // namespace ffkit
