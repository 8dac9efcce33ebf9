#include "archives/tar_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>

#include "archives/archive_reader.h"
#include "converter/input/source_error.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

constexpr int64_t kTarBlock = 512;
constexpr std::string_view kMagic = "ustar";
constexpr size_t kMagicOffset = 257;
// That tell how long members are.
constexpr size_t kFirstMembers = 32;
constexpr int64_t kLongMember = 1 << 20;
constexpr int64_t kLeastPerSegment = 16;
constexpr int64_t kMostSegments = 64;
// In which a segment's first header must be found.
constexpr int64_t kSearchedBytes = 4 << 20;
constexpr int64_t kSearchStep = 256 << 10;

[[noreturn]] void cut_short(const std::string& name, const std::string& how, int64_t offset) {
  throw Error(ErrorCode::corrupt,
              fmt::format("the archive is cut short: {}; download or copy the archive again", how),
              {.path = name, .offset = offset});
}

bool has_magic(std::span<const std::byte> block) {
  return block.size() >= kMagicOffset + kMagic.size() &&
         std::memcmp(&block[kMagicOffset], kMagic.data(), kMagic.size()) == 0;
}

// Where to stop: at the first header from `stop_at` on, or behind so many members.
struct ScanLimits {
  int64_t stop_at = std::numeric_limits<int64_t>::max();
  size_t max_members = std::numeric_limits<size_t>::max();
};

// From the header at `begin` of the range on.
TarScan scan_from(const InputFile& file, FileRange range, const std::string& name, int64_t begin,
                  const ScanLimits& limits) {
  ArchiveReader reader(file, range.offset + begin, range.num_bytes - begin, name,
                       ArchiveReader::Compression::none);
  TarScan scan;
  scan.end_of_members = begin;
  for (size_t count = 0; archive_entry* entry = reader.next(); ++count) {
    const int64_t header = begin + reader.header_position();
    if (header >= limits.stop_at || count >= limits.max_members) {
      scan.next_header = header;
      return scan;
    }
    std::string member = reader.checked_name(entry);
    const int64_t data = begin + reader.position();
    const int64_t num_bytes = archive_entry_size(entry);
    if (num_bytes < 0 || num_bytes > range.num_bytes - data) {
      cut_short(name,
                fmt::format("member '{}' needs {} bytes, but only {} bytes are left", member,
                            num_bytes, std::max<int64_t>(range.num_bytes - data, 0)),
                data);
    }
    scan.end_of_members = data + num_bytes;
    if (archive_entry_filetype(entry) == AE_IFREG) {
      scan.members.push_back({std::move(member), {range.offset + data, num_bytes}});
    }
  }
  return scan;
}

// The octal number of a header's field, behind blanks; -1 for anything else.
int64_t octal_number(std::string_view field) {
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  int64_t number = 0;
  for (const char c : field) {
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7') return -1;
    number = 8 * number + (c - '0');
  }
  return number;
}

// Whether the block is a header, by magic and checksum.
bool is_header(std::string_view block) {
  constexpr size_t kChecksum = 148;
  constexpr size_t kChecksumBytes = 8;
  if (!has_magic(std::as_bytes(std::span(block)))) return false;
  int64_t sum = kChecksumBytes * ' ';
  for (size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kChecksum && i < kChecksum + kChecksumBytes;
    if (!is_sum) sum += static_cast<unsigned char>(block[i]);
  }
  return octal_number(block.substr(kChecksum, kChecksumBytes)) == sum;
}

// Where an entry begins, at `guess` or soon behind it; nothing where none is found. What is behind
// a file's bytes is the begin of one, whatever headers an entry has.
std::optional<int64_t> find_entry(const InputFile& file, FileRange range, int64_t guess) {
  std::string text;
  for (int64_t at = guess / kTarBlock * kTarBlock; at < guess + kSearchedBytes; at += kSearchStep) {
    const int64_t num_bytes = std::min(kSearchStep, (range.num_bytes - at) / kTarBlock * kTarBlock);
    if (num_bytes <= 0) return std::nullopt;
    text.resize(static_cast<size_t>(num_bytes));
    file.read_at(range.offset + at, std::as_writable_bytes(std::span(text)));
    for (int64_t i = 0; i < num_bytes; i += kTarBlock) {
      const auto block = std::string_view(text).substr(static_cast<size_t>(i), kTarBlock);
      if (!is_header(block)) continue;
      const int64_t size = octal_number(block.substr(124, 12));
      const char type = block[156];
      if (size < 0 || (type != '0' && type != '\0')) continue;
      const int64_t entry = at + i + kTarBlock + (size + kTarBlock - 1) / kTarBlock * kTarBlock;
      if (entry < range.num_bytes) return entry;
    }
  }
  return std::nullopt;
}

void append(TarScan& all, TarScan more) {
  all.members.insert(all.members.end(), std::make_move_iterator(more.members.begin()),
                     std::make_move_iterator(more.members.end()));
  all.end_of_members = more.end_of_members;
  all.next_header = more.next_header;
}

// Calls body(0) .. body(count - 1), each in a thread of its own as far as they can be started. Not
// parallel_io(): one within another would have as few threads as the smaller one asks for. `body`
// must not throw.
template <typename Body>
void side_by_side(size_t count, const Body& body) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  size_t num_begun = 1;
  try {
    for (; num_begun < count; ++num_begun) threads.emplace_back(body, num_begun);
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    // The rest is for this thread.
  }
  if (count > 0) body(0);
  for (; num_begun < count; ++num_begun) body(num_begun);
  for (std::thread& thread : threads) thread.join();
}

// From `begin`, in about `num_segments`. Nothing where a segment that counts failed: front to back
// says how.
std::optional<TarScan> scan_segments(const InputFile& file, FileRange range,
                                     const std::string& name, int64_t begin, int64_t num_segments) {
  std::vector<int64_t> begins(static_cast<size_t>(num_segments), -1);
  begins[0] = begin;
  side_by_side(begins.size() - 1, [&](size_t i) {
    try {
      const int64_t guess =
          begin + (range.num_bytes - begin) / num_segments * static_cast<int64_t>(i + 1);
      begins[i + 1] = find_entry(file, range, guess).value_or(-1);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // The segment before goes on there, and says what is wrong.
    }
  });
  std::erase(begins, -1);
  std::ranges::sort(begins);
  // Not of std::ranges: clang-tidy 14 cannot read libstdc++'s subrange.
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  std::vector<std::optional<TarScan>> scans(begins.size());
  side_by_side(begins.size(), [&](size_t i) {
    ScanLimits limits;
    if (i + 1 < begins.size()) limits.stop_at = begins[i + 1];
    try {
      scans[i] = scan_from(file, range, name, begins[i], limits);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // It may have begun where no entry is.
    }
  });
  TarScan all{.members = {}, .end_of_members = begin, .next_header = begin};
  while (all.next_header >= 0) {
    const auto found = std::ranges::lower_bound(begins, all.next_header);
    if (found != begins.end() && *found == all.next_header) {
      std::optional<TarScan>& scan = scans[static_cast<size_t>(found - begins.begin())];
      if (!scan) return std::nullopt;
      append(all, std::move(*scan));
    } else {
      ScanLimits limits;
      if (found != begins.end()) limits.stop_at = *found;
      append(all, scan_from(file, range, name, all.next_header, limits));
    }
  }
  return all;
}

// Says what a file is that is no tar, where its first bytes tell.
void refuse_other_kinds(const InputFile& file, FileRange range, const std::string& name) {
  const std::vector<std::byte> bytes = file.head(range.offset, range.num_bytes);
  if (has_magic(bytes)) return;  // a member's name may begin as anything
  const ContentKind kind = content_kind(bytes);
  if (kind == ContentKind::unknown) return;
  // What is called .tar.gz is decompressed before it is looked at.
  constexpr std::array<std::string_view, 5> kPacked = {".gz", ".tgz", ".zst", ".bz2", ".xz"};
  const bool is_twice =
      is_compressed_stream(kind) && std::ranges::any_of(kPacked, [&](std::string_view ending) {
        return std::string_view(name).ends_with(ending);
      });
  const std::string remedy = is_twice ? "the file was compressed twice, so decompress the file once"
                                      : content_remedy(kind);
  throw source_error(name, ErrorCode::unsupported, "the file is {}, not a plain tar archive{}{}",
                     content_name(kind), remedy.empty() ? "" : "; ", remedy);
}

// Whether members follow one another in `text` up to an end-of-archive mark: then they are an
// archive, and not what a buffer held before.
bool is_whole_archive(std::string_view text) {
  constexpr auto kBlock = static_cast<size_t>(kTarBlock);
  for (size_t at = 0; at + kBlock <= text.size();) {
    const std::string_view block = text.substr(at, kBlock);
    if (block.find_first_not_of('\0') == std::string_view::npos) return true;
    const int64_t size = octal_number(block.substr(124, 12));
    if (!has_magic(std::as_bytes(std::span(block))) || size < 0) return false;
    at += kBlock + static_cast<size_t>((size + kTarBlock - 1) / kTarBlock) * kBlock;
  }
  return false;
}

// A tar is written in records of 20 blocks. POSIX leaves undefined what is behind the mark in the
// last one (pax, "ustar Interchange Format"), and some writers leave there what their buffer held
// before.
bool are_leftovers(const InputFile& file, FileRange range, int64_t mark, int64_t at) {
  constexpr int64_t kRecordBytes = 20 * kTarBlock;
  const int64_t end = (mark + 2 * kTarBlock + kRecordBytes - 1) / kRecordBytes * kRecordBytes;
  if (range.num_bytes != end) return false;
  std::string rest(static_cast<size_t>(end - at), '\0');
  file.read_at(range.offset + at, std::as_writable_bytes(std::span(rest)));
  return !is_whole_archive(rest);
}

// Behind the mark there is padding. Archives that were joined by cat(1) have their next member
// there, which readers of tar pass over.
void refuse_joined_archives(const InputFile& file, FileRange range, int64_t mark,
                            const std::string& name) {
  constexpr int64_t kChunkBytes = 128 * kTarBlock;
  // A tape's block has at most 1 MiB; a sparse file may have any length.
  constexpr int64_t kMaxPadding = 4 << 20;
  std::vector<std::byte> chunk;
  const int64_t end_of_padding = std::min(range.num_bytes, mark + kMaxPadding);
  for (int64_t at = mark; at + kTarBlock <= end_of_padding; at += kChunkBytes) {
    const int64_t num_bytes = std::min(kChunkBytes, end_of_padding - at);
    chunk.resize(static_cast<size_t>(num_bytes));
    file.read_at(range.offset + at, chunk);
    const auto end = std::ranges::find_if(chunk, [](std::byte b) { return b != std::byte{0}; });
    if (end == chunk.end()) continue;
    const auto block = static_cast<size_t>((end - chunk.begin()) / kTarBlock * kTarBlock);
    if (has_magic(std::span(chunk).subspan(block)) &&
        !are_leftovers(file, range, mark, at + static_cast<int64_t>(block))) {
      throw Error(ErrorCode::unsupported,
                  "a second archive begins after the end of the first archive in this file, and "
                  "ffkit would not read the members of the second archive; give the two archives "
                  "as separate files, or join the archives with tar --concatenate",
                  {.path = name, .offset = at + static_cast<int64_t>(block)});
    }
    return;  // neither padding nor a member: what readers of tar pass over
  }
}

// A tar ends with blocks of zeros. libarchive takes the end of the file for the end of the archive,
// so a copy that was cut between two members would go unnoticed.
void require_end_mark(const InputFile& file, FileRange range, int64_t end_of_members,
                      const std::string& name) {
  const int64_t mark = (end_of_members + kTarBlock - 1) / kTarBlock * kTarBlock;
  std::array<std::byte, kTarBlock> block;
  if (mark + kTarBlock > range.num_bytes) {
    const bool is_file = file.path().string() == name;
    throw Error(
        ErrorCode::corrupt,
        fmt::format("the archive is cut short: it ends without the end-of-archive mark; download "
                    "or copy the archive again{}",
                    is_file ? ". If the program that wrote the archive never writes the mark, add "
                              "1,024 zero bytes with 'head -c 1024 /dev/zero >> FILE'"
                            : ""),
        {.path = name, .offset = range.num_bytes});
  }
  file.read_at(range.offset + mark, block);
  if (!std::ranges::all_of(block, [](std::byte b) { return b == std::byte{0}; })) {
    cut_short(name, "there is no end-of-archive mark after the last member", mark);
  }
  refuse_joined_archives(file, range, mark, name);
}

}  // namespace

TarScan scan_tar(const InputFile& file, FileRange range, const std::string& name,
                 size_t num_beside) {
  const int64_t most = kMostSegments / static_cast<int64_t>(std::max<size_t>(num_beside, 1));
  if (!file.is_in_store() || most < 2) return scan_from(file, range, name, 0, {});
  TarScan all = scan_from(file, range, name, 0, {.max_members = kFirstMembers});
  if (all.next_header < 0) return all;
  const int64_t per_member = all.next_header / static_cast<int64_t>(kFirstMembers) + 1;
  const int64_t num_left = (range.num_bytes - all.next_header) / per_member;
  const int64_t num_segments = std::min(most, num_left / kLeastPerSegment);
  const int64_t begin = all.next_header;
  if (per_member <= kLongMember && num_segments >= 2) {
    if (auto rest = scan_segments(file, range, name, begin, num_segments)) {
      append(all, std::move(*rest));
      return all;
    }
  }
  // Anew, so that what it says of offsets is of the whole.
  return scan_from(file, range, name, 0, {});
}

std::vector<TarMember> index_tar(const InputFile& file, FileRange range, const std::string& name,
                                 size_t num_beside) {
  if (range.num_bytes > 0) refuse_other_kinds(file, range, name);
  if (range.num_bytes < kTarBlock) cut_short(name, "it is shorter than one tar header", 0);
  TarScan scan = scan_tar(file, range, name, num_beside);
  require_end_mark(file, range, scan.end_of_members, name);
  return std::move(scan.members);
}

std::vector<TarMember> index_tar(const InputFile& file, size_t num_beside) {
  return index_tar(file, {0, file.size()}, file.path().string(), num_beside);
}

}  // namespace ffkit
