#include "sources/archives/tar_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include <ffkit/format/error.h>

#include "sources/archives/archive_reader.h"

namespace ffkit {
namespace {

constexpr int64_t kBlockBytes = 512;

[[noreturn]] void cut_short(const std::string& name, const std::string& how, int64_t offset) {
  throw Error(ErrorCode::corrupt,
              fmt::format("the archive is cut short: {}; download or copy it again", how),
              {.path = name, .offset = offset});
}

// A tar ends with blocks of zeros. libarchive takes the end of the file for the end of the archive,
// so a copy that was cut between two members would go unnoticed.
void require_end_mark(const InputFile& file, FileRange range, int64_t end_of_members,
                      const std::string& name) {
  const int64_t mark = (end_of_members + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  std::array<std::byte, kBlockBytes> block;
  if (mark + kBlockBytes > range.num_bytes) {
    cut_short(name, "it ends without the end-of-archive mark", range.num_bytes);
  }
  file.read_at(range.offset + mark, block);
  if (!std::ranges::all_of(block, [](std::byte b) { return b == std::byte{0}; })) {
    cut_short(name, "there is no end-of-archive mark behind the last member", mark);
  }
}

}  // namespace

std::vector<TarMember> index_tar(const InputFile& file, FileRange range, const std::string& name) {
  if (range.num_bytes < kBlockBytes) cut_short(name, "it is shorter than one tar header", 0);
  ArchiveReader reader(file, range.offset, range.num_bytes, name, ArchiveReader::Compression::none);
  std::vector<TarMember> members;
  int64_t end_of_members = 0;
  while (archive_entry* entry = reader.next()) {
    std::string member = reader.checked_name(entry);
    const int64_t begin = reader.position();
    const int64_t num_bytes = archive_entry_size(entry);
    if (num_bytes < 0 || num_bytes > range.num_bytes - begin) {
      cut_short(name,
                fmt::format("member '{}' needs {} bytes but {} are left", member, num_bytes,
                            std::max<int64_t>(range.num_bytes - begin, 0)),
                begin);
    }
    end_of_members = begin + num_bytes;
    if (archive_entry_filetype(entry) == AE_IFREG) {
      members.push_back({std::move(member), {range.offset + begin, num_bytes}});
    }
  }
  require_end_mark(file, range, end_of_members, name);
  return members;
}

std::vector<TarMember> index_tar(const InputFile& file) {
  return index_tar(file, {0, file.size()}, file.path().string());
}

}  // namespace ffkit
