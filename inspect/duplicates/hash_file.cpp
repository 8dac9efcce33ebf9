#include "duplicates/hash_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <ffkit/base/crc32c.h>

#include "base/fnv.h"
#include "base/little_endian.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr size_t kHashHeaderBytes = 64;
constexpr size_t kHashEntryBytes = 32;
constexpr size_t kHashPieceBytes = kPieceRecords * kHashEntryBytes + 8;
constexpr std::string_view kHashMagic = "FFKHASH1";
constexpr size_t kFingerprintChars = 16;
constexpr size_t kMaxNameChars = 64;

uint64_t name_hash(std::string_view name) {
  return fnv1a64(std::as_bytes(std::span(name)));
}

int64_t piece_offset(int64_t number) {
  return static_cast<int64_t>(kHashHeaderBytes) + number * static_cast<int64_t>(kHashPieceBytes);
}

uint32_t header_crc(std::span<const std::byte> header) {
  return crc32c(header.first(kHashHeaderBytes - 4));
}

void store_hash(std::byte* at, const RecordHash& hash) {
  store_le(at, hash.picture);
  store_le(at + 8, hash.content.high);
  store_le(at + 16, hash.content.low);
  at[24] = static_cast<std::byte>(hash.state);
  at[25] = static_cast<std::byte>(hash.form);
}

RecordHash load_hash(const std::byte* at) {
  return {.picture = load_le<uint64_t>(at),
          .content = {load_le<uint64_t>(at + 8), load_le<uint64_t>(at + 16)},
          .state = static_cast<HashState>(at[24]),
          .form = static_cast<HashedForm>(at[25])};
}

bool is_hash_entry(const std::byte* entry) {
  return entry[25] <= static_cast<std::byte>(HashedForm::dct) &&
         entry[24] > static_cast<std::byte>(HashState::missing) &&
         entry[24] < static_cast<std::byte>(HashState::damaged);
}

// Whether the whole piece `number` is in `bytes`.
bool is_hash_piece(std::span<const std::byte> bytes, int64_t number, uint32_t first_crc) {
  const std::byte* end = bytes.data() + kHashPieceBytes;
  return load_le<uint32_t>(end - 8) == static_cast<uint32_t>(number) &&
         load_le<uint32_t>(end - 4) == crc32c(bytes.first(kHashPieceBytes - 4), first_crc);
}

// pread(2) of all of `out`; false at the end of the file.
bool read_hash_bytes(int fd, const std::filesystem::path& path, int64_t offset,
                     std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw io_error_at(path, "cannot read hashes", errno);
    if (got == 0) return false;
    out = out.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return true;
}

void write_hash_bytes(int fd, const std::filesystem::path& path, int64_t offset,
                      std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put = ::pwrite(fd, data.data(), data.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw io_error_at(path, "cannot write hashes", errno);
    data = data.subspan(static_cast<size_t>(put));
    offset += put;
  }
}

}  // namespace

std::string HashFileKey::file_name() const {
  std::string name = field.empty() ? "record" : field.substr(0, kMaxNameChars);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return fmt::format("{}-{}-{:08x}-{}{}.hashes", fingerprint, name,
                     static_cast<uint32_t>(name_hash(field)),
                     kind == HashKind::pictures ? "pictures" : "bytes", kHashVersion);
}

std::vector<std::byte> hash_file_header(const HashFileKey& key) {
  std::vector<std::byte> header(kHashHeaderBytes);
  std::byte* at = header.data();
  std::memcpy(at, kHashMagic.data(), kHashMagic.size());
  store_le(at + 8, static_cast<uint32_t>(key.kind));
  store_le(at + 12, kHashVersion);
  store_le(at + 16, key.num_records);
  std::memcpy(at + 24, key.fingerprint.data(), std::min(key.fingerprint.size(), kFingerprintChars));
  store_le(at + 40, name_hash(key.field));
  store_le(at + 48, static_cast<uint32_t>(kPieceRecords));
  store_le(at + kHashHeaderBytes - 4, header_crc(header));
  return header;
}

std::vector<std::byte> hash_file_piece(const HashFileKey& key, int64_t number,
                                       std::span<const RecordHash> hashes) {
  std::vector<std::byte> piece(kHashPieceBytes);
  for (size_t i = 0; i < hashes.size(); ++i) store_hash(&piece[i * kHashEntryBytes], hashes[i]);
  std::byte* end = piece.data() + kHashPieceBytes;
  store_le(end - 8, static_cast<uint32_t>(number));
  store_le(end - 4,
           crc32c(std::span(piece).first(kHashPieceBytes - 4), header_crc(hash_file_header(key))));
  return piece;
}

int64_t load_hashes(const ReadAt& read_at, const HashFileKey& key, std::span<RecordHash> hashes) {
  const std::vector<std::byte> expected = hash_file_header(key);
  std::array<std::byte, kHashHeaderBytes> header{};
  if (!read_at(0, header) || !std::ranges::equal(header, expected)) return 0;
  std::vector<std::byte> piece(kHashPieceBytes);
  int64_t num_loaded = 0;
  for (int64_t begin = 0; begin < std::ssize(hashes); begin += kPieceRecords) {
    const int64_t number = begin / kPieceRecords;
    // A later piece may be there: pieces are written in any order.
    if (!read_at(piece_offset(number), piece)) break;
    if (!is_hash_piece(piece, number, header_crc(expected))) continue;
    const auto out = hashes.subspan(
        begin, std::min<size_t>(kPieceRecords, hashes.size() - static_cast<size_t>(begin)));
    bool is_known = true;
    for (size_t i = 0; i < out.size(); ++i) {
      is_known = is_known && is_hash_entry(&piece[i * kHashEntryBytes]);
    }
    if (!is_known) continue;
    for (size_t i = 0; i < out.size(); ++i) out[i] = load_hash(&piece[i * kHashEntryBytes]);
    num_loaded += std::ssize(out);
  }
  return num_loaded;
}

int64_t load_hashes(const std::filesystem::path& file, const HashFileKey& key,
                    std::span<RecordHash> hashes) {
  const FileLock descriptor(open_descriptor(file, O_RDONLY));
  if (!descriptor.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return 0;
    throw io_error_at(file, "the file of hashes cannot be opened", errno);
  }
  return load_hashes(
      [&](int64_t offset, std::span<std::byte> out) {
        return read_hash_bytes(descriptor.fd(), file, offset, out);
      },
      key, hashes);
}

HashFileWriter::HashFileWriter(std::filesystem::path path, HashFileKey key)
    : path_(std::move(path)), key_(std::move(key)) {
  std::error_code error;
  std::filesystem::create_directories(path_.parent_path(), error);
  require_done(error, path_.parent_path(), "cannot make the folder of hashes");
  const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) throw io_error_at(path_, "the file of hashes cannot be opened", errno);
  lock_ = FileLock(fd);
  if (lock_.try_lock(FileLock::Mode::exclusive) == EWOULDBLOCK) {
    throw io_error_at(path_, "another process is writing these hashes", EWOULDBLOCK);
  }
  const std::vector<std::byte> expected = hash_file_header(key_);
  std::vector<std::byte> header(kHashHeaderBytes);
  if (read_hash_bytes(fd, path_, 0, header) && header == expected) return;
  if (::ftruncate(fd, 0) != 0) throw io_error_at(path_, "cannot empty the file of hashes", errno);
  write_hash_bytes(fd, path_, 0, expected);
}

void HashFileWriter::write(int64_t piece, std::span<const RecordHash> hashes) {
  write_hash_bytes(lock_.fd(), path_, piece_offset(piece), hash_file_piece(key_, piece, hashes));
}

}  // namespace ffkit
