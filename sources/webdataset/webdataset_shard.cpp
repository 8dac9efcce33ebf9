#include "webdataset/webdataset_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "converter/input/source_error.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

struct SplitName {
  std::string key;
  std::string extension;  // empty: no member of a sample
};

SplitName split_name(const std::string& member) {
  const size_t slash = member.rfind('/');
  const size_t base = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = member.find('.', base);
  const bool is_own = member.compare(base, 2, "__") == 0 && member.ends_with("__");
  if (dot == std::string::npos || dot == base || dot + 1 == member.size() || is_own) return {};
  SplitName result{member.substr(0, dot), member.substr(dot + 1)};
  std::ranges::transform(result.extension, result.extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

WebDatasetShard list_webdataset_shard(const fs::path& path, const InputFile& file, FileRange range,
                                      size_t num_beside) {
  WebDatasetShard shard;
  std::set<std::string> keys;
  file.expect_scattered_reads();
  const std::vector<TarMember> members = index_tar(file, range, path.string(), num_beside);
  file.expect_scattered_reads(false);
  for (const TarMember& member : members) {
    auto [key, extension] = split_name(member.name);
    if (extension.empty()) {
      ++shard.num_ignored;
      continue;
    }
    const auto refuse = [&path, sample = std::string_view(key)](const std::string& why) {
      throw source_error(path, ErrorCode::invalid_argument, "sample '{}' {}", sample, why);
    };
    if (shard.samples.empty() || shard.samples.back().key != key) {
      if (!keys.insert(key).second) {
        refuse(
            fmt::format("has members in several places, '{}' among them; write the tar with the "
                        "members of a sample side by side (tar --sort=name)",
                        member.name));
      }
      shard.samples.push_back({key, 0});
    }
    const auto found = std::ranges::find(shard.extensions, extension);
    const auto number = static_cast<uint32_t>(found - shard.extensions.begin());
    if (found == shard.extensions.end()) shard.extensions.push_back(extension);
    WebDatasetSample& sample = shard.samples.back();
    for (size_t i = 1; i <= sample.num_members; ++i) {
      if (shard.members[shard.members.size() - i].extension == number) {
        refuse(fmt::format("has two members '.{}'; write the tar without one of them", extension));
      }
    }
    shard.members.push_back({number, member.data});
    ++sample.num_members;
  }
  return shard;
}

}  // namespace ffkit
