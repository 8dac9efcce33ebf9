// The hashes of a split in a file beside it: the data set is only read, and hashing takes minutes.
//
//   header, 64 bytes             all numbers little-endian
//     0  "FFKHASH1"
//     8  u32  kind: 1 bytes, 2 pictures
//    12  u32  version of the method: kHashVersion
//    16  i64  number of records
//    24  the split's fingerprint, 16 characters
//    40  u64  FNV-1a of the name of the field
//    48  u32  records in a piece: kPieceRecords
//    52  zeros
//    60  u32  CRC-32C of the 60 bytes before
//   pieces, at 64 + i * (kPieceRecords * 32 + 8)
//     kPieceRecords times: u64 hash of the picture, u64 u64 content hash, u8 state, u8 form:
//       1 a JPEG, 2 the dct code of one; zeros; 32 bytes. Zeros behind the last record
//     u32  number of the piece, i
//     u32  CRC-32C of the piece up to here, continued from that of the header
//
// A piece is written at once when its records are hashed, and is there if its checksum holds. So a
// file is of use at any time, whatever was interrupted, and a damaged piece is hashed again. A
// file with another header is another split's, or an older method's: it is made anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/file/file_lock.h"
#include "duplicates/record_hash.h"

namespace ffkit {

// What is hashed of each record.
enum class HashKind : uint8_t { bytes = 1, pictures = 2 };

// Counts up when the same record gets another hash than before.
inline constexpr uint32_t kHashVersion = 1;
inline constexpr int64_t kPieceRecords = 512;

enum class HashState : uint8_t {
  missing = 0,  // not hashed
  picture,      // has both hashes
  plain,        // a picture that is compared by its bytes
  undecodable,  // a picture that cannot be decoded; compared by its bytes
  bytes,        // no picture, or not looked at as one
  null,         // the record has no such field
  damaged       // the record cannot be read; never in a file
};

// How its bytes are to be compared with those of others.
enum class HashedForm : uint8_t { other = 0, jpeg, dct };

struct RecordHash {
  uint64_t picture = 0;
  ContentHash content;
  HashState state = HashState::missing;
  HashedForm form = HashedForm::other;
};

// Which hashes a file has.
struct HashFileKey {
  HashKind kind = HashKind::pictures;
  int64_t num_records = 0;
  std::string fingerprint;
  std::string field;  // empty: the whole record

  // "0123456789abcdef-image-1a2b3c4d-pictures1.hashes".
  std::string file_name() const;
};

// Reads `out.size()` bytes at an offset; false: they are not there.
using ReadAt = std::function<bool(int64_t offset, std::span<std::byte> out)>;

// Fills what the file has in `hashes`, one a record of `key`; the others keep state `missing`.
// Returns the number of records that it filled; 0 for another file. Bounded by the size of
// `hashes`, whatever is read.
int64_t load_hashes(const ReadAt& read_at, const HashFileKey& key, std::span<RecordHash> hashes);

// The same of a file; 0 where there is none. Throws Error(io).
int64_t load_hashes(const std::filesystem::path& file, const HashFileKey& key,
                    std::span<RecordHash> hashes);

// The bytes of a header, and of piece `number`, whose records are `hashes`.
std::vector<std::byte> hash_file_header(const HashFileKey& key);
std::vector<std::byte> hash_file_piece(const HashFileKey& key, int64_t number,
                                       std::span<const RecordHash> hashes);

// A file into which pieces are written. write() is thread-safe, for different pieces.
class HashFileWriter {
 public:
  // Opens the file, or makes it and the folders above it; empties it when it is another's. Locks
  // it against other writers. Throws Error(io), also when another process writes it.
  HashFileWriter(std::filesystem::path path, HashFileKey key);

  // Throws Error(io).
  void write(int64_t piece, std::span<const RecordHash> hashes);

 private:
  std::filesystem::path path_;
  HashFileKey key_;
  FileLock lock_;
};

}  // namespace ffkit
