#include "archives/tar_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "archives/tar_scan.h"
#include "converter/input/source_error.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

constexpr int64_t kBlockBytes = 512;

[[noreturn]] void cut_short(const std::string& name, const std::string& how, int64_t offset) {
  throw Error(ErrorCode::corrupt,
              fmt::format("the archive is cut short: {}; download or copy it again", how),
              {.path = name, .offset = offset});
}

constexpr std::string_view kMagic = "ustar";
constexpr size_t kMagicOffset = 257;

bool has_magic(std::span<const std::byte> block) {
  return block.size() >= kMagicOffset + kMagic.size() &&
         std::memcmp(&block[kMagicOffset], kMagic.data(), kMagic.size()) == 0;
}

// Says what a file is that is no tar, where its first bytes tell.
void refuse_other_kinds(const InputFile& file, FileRange range, const std::string& name) {
  std::array<std::byte, kContentHeadBytes> head{};
  const auto num_bytes = std::min<int64_t>(range.num_bytes, std::ssize(head));
  const auto bytes = std::span(head).first(static_cast<size_t>(num_bytes));
  file.read_at(range.offset, bytes);
  if (has_magic(bytes)) return;  // a member's name may begin as anything
  const ContentKind kind = content_kind(bytes);
  if (kind == ContentKind::unknown) return;
  const std::string remedy = content_remedy(kind);
  throw source_error(name, ErrorCode::unsupported, "is {}, and not a plain tar archive{}{}",
                     content_name(kind), remedy.empty() ? "" : "; ", remedy);
}

// The number in an octal field of a header; -1 for anything else.
int64_t octal_number(std::span<const std::byte> field) {
  int64_t number = 0;
  for (const std::byte byte : field) {
    const char c = static_cast<char>(byte);
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7') return -1;
    number = 8 * number + (c - '0');
  }
  return number;
}

// Whether members follow one another from `at` to an end-of-archive mark: then they are an archive,
// and not what a buffer held before.
bool is_whole_archive(std::span<const std::byte> bytes, size_t at) {
  constexpr auto kBlock = static_cast<size_t>(kBlockBytes);
  while (at + kBlock <= bytes.size()) {
    const auto block = bytes.subspan(at, kBlock);
    if (std::ranges::all_of(block, [](std::byte b) { return b == std::byte{0}; })) return true;
    const int64_t size = octal_number(block.subspan(124, 12));
    if (!has_magic(block) || size < 0) return false;
    at += kBlock + static_cast<size_t>((size + kBlockBytes - 1) / kBlockBytes) * kBlock;
  }
  return false;
}

// A tar is written in records of 20 blocks. POSIX leaves undefined what is behind the mark in the
// last one (pax, "ustar Interchange Format"), and some writers leave there what their buffer held
// before.
bool are_leftovers(const InputFile& file, FileRange range, int64_t mark, int64_t at) {
  constexpr int64_t kRecordBytes = 20 * kBlockBytes;
  const int64_t end = (mark + 2 * kBlockBytes + kRecordBytes - 1) / kRecordBytes * kRecordBytes;
  if (range.num_bytes != end) return false;
  std::vector<std::byte> rest(static_cast<size_t>(end - at));
  file.read_at(range.offset + at, rest);
  return !is_whole_archive(rest, 0);
}

// Behind the mark there is padding. Archives that were joined by cat(1) have their next member
// there, which readers of tar pass over.
void refuse_joined_archives(const InputFile& file, FileRange range, int64_t mark,
                            const std::string& name) {
  constexpr int64_t kChunkBytes = 128 * kBlockBytes;
  // A tape's block has at most 1 MiB; a sparse file may have any length.
  constexpr int64_t kMaxPadding = 4 << 20;
  std::vector<std::byte> chunk;
  const int64_t end_of_padding = std::min(range.num_bytes, mark + kMaxPadding);
  for (int64_t at = mark; at + kBlockBytes <= end_of_padding; at += kChunkBytes) {
    const int64_t num_bytes = std::min(kChunkBytes, end_of_padding - at);
    chunk.resize(static_cast<size_t>(num_bytes));
    file.read_at(range.offset + at, chunk);
    const auto end = std::ranges::find_if(chunk, [](std::byte b) { return b != std::byte{0}; });
    if (end == chunk.end()) continue;
    const auto block = static_cast<size_t>((end - chunk.begin()) / kBlockBytes * kBlockBytes);
    if (has_magic(std::span(chunk).subspan(block)) &&
        !are_leftovers(file, range, mark, at + static_cast<int64_t>(block))) {
      throw Error(
          ErrorCode::unsupported,
          "another archive begins behind the end of this one, and its members would be left "
          "out; give both as files of their own, or join them with tar --concatenate",
          {.path = name, .offset = at + static_cast<int64_t>(block)});
    }
    return;  // neither padding nor a member: what readers of tar pass over
  }
}

// A tar ends with blocks of zeros. libarchive takes the end of the file for the end of the archive,
// so a copy that was cut between two members would go unnoticed.
void require_end_mark(const InputFile& file, FileRange range, int64_t end_of_members,
                      const std::string& name) {
  const int64_t mark = (end_of_members + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  std::array<std::byte, kBlockBytes> block;
  if (mark + kBlockBytes > range.num_bytes) {
    const bool is_file = file.path().string() == name;
    throw Error(
        ErrorCode::corrupt,
        fmt::format("the archive is cut short: it ends without the end-of-archive mark; "
                    "download or copy it again{}",
                    is_file ? ", or, if its writer leaves the mark out, add 1,024 zeros with "
                              "head -c 1024 /dev/zero >> FILE"
                            : ""),
        {.path = name, .offset = range.num_bytes});
  }
  file.read_at(range.offset + mark, block);
  if (!std::ranges::all_of(block, [](std::byte b) { return b == std::byte{0}; })) {
    cut_short(name, "there is no end-of-archive mark behind the last member", mark);
  }
  refuse_joined_archives(file, range, mark, name);
}

}  // namespace

std::vector<TarMember> index_tar(const InputFile& file, FileRange range, const std::string& name,
                                 size_t num_beside) {
  if (range.num_bytes > 0) refuse_other_kinds(file, range, name);
  if (range.num_bytes < kBlockBytes) cut_short(name, "it is shorter than one tar header", 0);
  TarScan scan = scan_tar(file, range, name, num_beside);
  require_end_mark(file, range, scan.end_of_members, name);
  return std::move(scan.members);
}

std::vector<TarMember> index_tar(const InputFile& file, size_t num_beside) {
  return index_tar(file, {0, file.size()}, file.path().string(), num_beside);
}

}  // namespace ffkit
