// A side file of `ffinspect duplicates` of any bytes: hashes of known states in whole pieces, and
// nothing else. The bytes also stand in pieces with a right checksum, and an error in reading comes
// at any place.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include <ffkit/base/crc32c.h>

#include "base/little_endian.h"
#include "duplicates/hash_file.h"

namespace {

using Bytes = std::span<const std::byte>;

constexpr int64_t kRecords = 600;
constexpr size_t kHeader = 64;
constexpr size_t kPiece = ffkit::kPieceRecords * 32 + 8;

const ffkit::HashFileKey& key() {
  static const ffkit::HashFileKey of_seeds{.kind = ffkit::HashKind::pictures,
                                           .num_records = kRecords,
                                           .fingerprint = "0123456789abcdef",
                                           .field = "image"};
  return of_seeds;
}

void load(Bytes file) {
  std::vector<ffkit::RecordHash> hashes(kRecords);
  const auto read_at = [file](int64_t offset, std::span<std::byte> out) {
    const auto begin = static_cast<size_t>(offset);
    if (offset < 0 || begin > file.size() || file.size() - begin < out.size()) return false;
    std::memcpy(out.data(), file.data() + begin, out.size());
    return true;
  };
  const int64_t num_loaded = ffkit::load_hashes(read_at, key(), hashes);
  int64_t num_there = 0;
  for (int64_t i = 0; i < kRecords; ++i) {
    const ffkit::RecordHash& hash = hashes[static_cast<size_t>(i)];
    const bool is_there = hash.state != ffkit::HashState::missing;
    const bool is_same_piece =
        is_there == (hashes[static_cast<size_t>(i - i % ffkit::kPieceRecords)].state !=
                     ffkit::HashState::missing);
    if (hash.state >= ffkit::HashState::damaged || hash.form > ffkit::HashedForm::dct ||
        !is_same_piece) {
      std::abort();
    }
    num_there += is_there ? 1 : 0;
  }
  if (num_there != num_loaded) std::abort();
}

// The bytes behind the header as pieces with right numbers and checksums.
std::vector<std::byte> sealed(Bytes file) {
  std::vector<std::byte> result = ffkit::hash_file_header(key());
  const uint32_t first_crc = ffkit::crc32c(Bytes(result).first(kHeader - 4));
  file = file.subspan(std::min(file.size(), kHeader));
  for (uint32_t number = 0; number < 2; ++number) {
    std::vector<std::byte> piece(kPiece);
    const Bytes part = file.first(std::min(file.size(), kPiece - 8));
    std::ranges::copy(part, piece.begin());
    ffkit::store_le(&piece[kPiece - 8], number);
    ffkit::store_le(&piece[kPiece - 4], ffkit::crc32c(Bytes(piece).first(kPiece - 4), first_crc));
    result.insert(result.end(), piece.begin(), piece.end());
    file = file.subspan(std::min(file.size(), kPiece));
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes file = std::as_bytes(std::span(data, size));
  load(file);
  load(sealed(file));
  return 0;
}
