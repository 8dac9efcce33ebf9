// A tar of any bytes, as ImageNet's archives are indexed: places of members within the file, or an
// Error. Members that look like class archives are indexed, too. Nearly every change to a header
// breaks its sum: the mutator mends them.
#include <cstdio>

#include "memory_file.h"
#include "seeds/seeds.h"
#include "sources/archives/tar_index.h"
#include "touch.h"

namespace {

constexpr size_t kMaxInnerArchives = 8;

void read_members(const ffkit::InputFile& file, const std::vector<ffkit::TarMember>& members,
                  ffkit::FileRange range) {
  std::vector<std::byte> data;
  for (const ffkit::TarMember& member : members) {
    const std::filesystem::path name(member.name);
    if (name.is_absolute() || name.begin() == name.end() || *name.begin() == "..") std::abort();
    if (member.data.offset < range.offset || member.data.num_bytes < 0 ||
        member.data.num_bytes > range.num_bytes ||
        member.data.offset - range.offset > range.num_bytes - member.data.num_bytes) {
      std::abort();
    }
    data.resize(static_cast<size_t>(member.data.num_bytes));
    file.read_at(member.data.offset, data);
    ffkit::fuzzing::touch(data);
  }
}

// POSIX.1-1988's ustar header: the sum of its bytes, with spaces for the sum itself.
void mend_sum(uint8_t* header) {
  constexpr size_t kSumOffset = 148;
  constexpr size_t kSumBytes = 8;
  std::memset(header + kSumOffset, ' ', kSumBytes);
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += header[i];
  std::snprintf(reinterpret_cast<char*>(header + kSumOffset), kSumBytes, "%06o", sum);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned) {
  constexpr size_t kBlockBytes = 512;
  constexpr size_t kMagicOffset = 257;
  size = LLVMFuzzerMutate(data, size, max_size);
  for (size_t i = 0; i + kBlockBytes <= size; i += kBlockBytes) {
    if (std::memcmp(data + i + kMagicOffset, "ustar", 5) == 0) mend_sum(data + i);
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static ffkit::testing::MemoryFile memory;
  memory.assign(std::as_bytes(std::span(bytes, size)));
  ffkit::fuzzing::attempt([] {
    const ffkit::InputFile file(memory.path());
    const ffkit::FileRange whole{0, file.size()};
    const auto members = ffkit::index_tar(file);
    read_members(file, members, whole);
    for (size_t i = 0; i < std::min(members.size(), kMaxInnerArchives); ++i) {
      ffkit::fuzzing::attempt([&] {
        read_members(file, ffkit::index_tar(file, members[i].data, "inner"), members[i].data);
      });
    }
  });
  return 0;
}
