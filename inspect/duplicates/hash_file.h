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

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/image/image_codec.h>

#include "base/file/file.h"
#include "base/file/file_lock.h"
#include "duplicates/duplicate_search.h"

namespace ffkit {

// Hashes of what a record holds: of its bytes, and of what its picture looks like.

// 128 bits of bytes, which are equal where the bytes are: among 10^7 records two
// different ones have the same with a probability of 10^-25. Not made against forgers.
struct ContentHash {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const ContentHash&) const = default;
};

// MurmurHash3_x64_128 of Austin Appleby (public domain), seed 0; `high` is its first half. Reads
// several GB/s.
ContentHash content_hash(std::span<const std::byte> data);

// 64 bits of what a picture looks like, of which near pictures differ in few.
//
// The bits are those of `imagehash.phash()` of Python (ImageHash 4.3; after "Looks Like It", Neal
// Krawetz, 2011, and Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions",
// 2010): the grey picture, 32 x 32 pixels by Pillow's LANCZOS, whatever its aspect; its DCT-II; of
// that the 8 x 8 lowest frequencies, row by row, the lowest first, in the highest bit: is it more
// than their median. A JPEG is decoded at the fraction of its size at which both sides still have
// kSmallestSide pixels. README.md says how many bits that changes.
struct PictureHash {
  uint64_t bits = 0;
  // Half of the frequencies are within this of their median, as the height of a wave in grey
  // levels.
  float contrast = 0;
  // The contrast is below kPlainContrast, so that noise decides about half of the bits: a picture
  // of one colour, a gradient along one side.
  bool is_plain = false;
};

// Hashes one picture after another and keeps its memory. Not thread-safe: one per thread.
class PictureHasher {
 public:
  static constexpr int kSide = 32;
  static constexpr int kSmallestSide = 64;
  static constexpr float kPlainContrast = 0.25F;

  // Throws as ImageDecoder::decode().
  PictureHash hash(std::span<const std::byte> image);

 private:
  // For each of kSide pixels of a side, which of `size` pixels it is made of, and their weights.
  struct Weights {
    int size = 0;
    std::array<int, kSide> first{};
    std::array<int, kSide> count{};
    int stride = 0;  // of `values`, [kSide, stride]; zeros behind the last weight
    std::vector<float> values;
    void prepare(int size);
  };
  using Frequencies = std::array<float, 64>;

  void make_small(const RgbView& pixels);
  Frequencies lowest_frequencies() const;

  ImageDecoder decoder_;
  Weights across_;
  Weights down_;
  std::vector<float> row_;           // a row of the picture, grey
  std::vector<float> narrow_;        // [height, kSide]
  std::array<float, 1024> small_{};  // [kSide, kSide], whole grey levels
};

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

// The hashes of all records of a split, from its side file and from the records.

// What is hashed of the records of a split.
struct HashedField {
  std::optional<size_t> position;  // in the schema; none: whole records
  std::string name;                // empty: whole records
  HashKind kind = HashKind::bytes;
};

// Chooses the field; adds to `notes` what the user should know about it. Throws
// Error(invalid_argument) for a field that there is not.
HashedField choose_hashed_field(const Dataset& dataset, const std::string& wanted,
                                std::vector<std::string>& notes);

// Fills `hashes`, one a record of `dataset`, from side files in `folder`; what they lack keeps
// state `missing`. A field that is hashed as bytes is also taken from a whole file of its pictures,
// and a subset from the whole file of its split. Returns how many it filled.
int64_t load_split_hashes(const Dataset& dataset, const HashedField& field,
                          const std::filesystem::path& folder, std::span<RecordHash> hashes);

// Fills what is missing in `hashes` from the records, and keeps it in the side file; without
// `folder` in none. Uses all threads of the arena. A side file that cannot be written is a note.
// Throws what reading a data set throws, but for damaged records; Error(cancelled) when
// progress.stop is set.
void hash_split(const Dataset& dataset, const HashedField& field,
                const std::filesystem::path& folder, std::span<RecordHash> hashes,
                DuplicateProgress& progress, std::vector<std::string>& notes);

// The states of `hashes`, and what is wrong with the first of those that cannot be decoded or
// read.
HashCounts count_hashes(const Dataset& dataset, const HashedField& field,
                        std::span<const RecordHash> hashes);

// Gives pictures in the dct code the content hash of the JPEGs that they stand for: those with a
// hash that is among `jpegs`, sorted, which are the hashes of pictures not in the dct code. (A JPEG
// and its dct code have the same pixels.) Without `jpegs` all of them.
void hash_dct_as_jpeg(const Dataset& dataset, const HashedField& field,
                      const std::optional<std::vector<uint64_t>>& jpegs,
                      std::span<RecordHash> hashes);

// All pairs of 64-bit hashes within a Hamming distance, by multi-index hashing (Norouzi, Punjani,
// Fleet, "Fast Exact Search in Hamming Space with Multi-Index Hashing", 2014).
//
// The bits are dealt to m parts. Of two hashes that differ in up to d = m r + a bits, some part
// of the first a + 1 differs in up to r bits, or some of the others in up to r - 1: else there were
// more than d. So each part is an index, in which every hash looks up its own value with up to r
// bits turned. Exact. Of n hashes that are spread well, it takes about n lookups for each of these
// values; where all hashes have the same few parts, at worst n^2 comparisons.

// Calls found(i, j), i < j, at least once for each pair of `hashes` that differ in 0 .. `distance`
// (0 .. 63) bits; one call at a time, from any thread. Works on all threads of the arena, and takes
// 12 bytes of memory a hash and up to 64 MiB. Ends early when `stop` is set. For up to 2^32 - 1
// hashes; give each value once, since equal ones are compared with one another.
void find_near_pairs(std::span<const uint64_t> hashes, int distance,
                     const std::function<void(uint32_t, uint32_t)>& found,
                     const std::atomic<bool>& stop);

}  // namespace ffkit
