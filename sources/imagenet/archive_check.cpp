#include "imagenet/archive_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <ffkit/base/option_names.h>

#include "archives/parallel_io.h"
#include "converter/input/source_error.h"
#include "files/file_hash.h"

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kImageNetSums = {
    ArchiveSum{"ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"},
    ArchiveSum{"ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"},
    ArchiveSum{"ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"},
};
// clang-format on

std::string check_archive(const std::filesystem::path& path, std::span<const ArchiveSum> sums) {
  const auto sum = std::ranges::find(sums, path.filename().string(), &ArchiveSum::name);
  if (sum == sums.end()) {
    return fmt::format("{}: not checked, since no MD5 sum is known for it", path.string());
  }
  const std::string found = md5_of(InputFile(path));
  if (found != sum->md5) {
    throw source_error(path, ErrorCode::corrupt,
                       "its MD5 sum is {}, but that of the official archive is {}; download it "
                       "again, or leave out {} to convert it as it is",
                       found, sum->md5, option_name("check_archives"));
  }
  return fmt::format("{}: is the official archive by its MD5 sum", path.string());
}

}  // namespace

std::string md5_of(const InputFile& file) {
  const auto read = [&file](int64_t offset, std::span<std::byte> out) {
    file.read_at(offset, out);
  };
  try {
    return hash_of_file("md5", file.size(), read).value();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw source_error(file.path(), ErrorCode::unsupported,
                       "OpenSSL does not compute MD5 on this machine");
  }
}

std::span<const ArchiveSum> imagenet_archive_sums() {
  return kImageNetSums;
}

std::vector<std::string> check_archives(const std::vector<std::filesystem::path>& archives,
                                        std::span<const ArchiveSum> sums) {
  std::vector<std::string> sentences(archives.size());
  parallel_io_that_throws(archives.size(),
                          [&](size_t i) { sentences[i] = check_archive(archives[i], sums); });
  return sentences;
}

}  // namespace ffkit
