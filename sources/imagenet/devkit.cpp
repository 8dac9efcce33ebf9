#include "imagenet/devkit.h"

#include <algorithm>
#include <charconv>

#include "archives/archive_reader.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "imagenet/lines.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "ILSVRC2012_devkit_t12";
constexpr const char* kMeta = "data/meta.mat";
constexpr const char* kGroundTruth = "data/ILSVRC2012_validation_ground_truth.txt";
constexpr size_t kMaxMemberBytes = 64 << 20;  // the official ones have less than 2 MB

using Bytes = std::vector<std::byte>;

Devkit make_devkit(const fs::path& path, const Bytes& meta, const Bytes& ground_truth) {
  Devkit devkit{.path = path};
  devkit.synsets = parse_meta_mat(meta, (path / kMeta).string());
  devkit.val_labels =
      parse_ground_truth({reinterpret_cast<const char*>(ground_truth.data()), ground_truth.size()},
                         devkit.synsets, (path / kGroundTruth).string());
  return devkit;
}

Devkit read_archive(const fs::path& path) {
  const InputFile file(path);
  ArchiveReader reader(file, 0, file.size(), path.string(), ArchiveReader::Compression::gzip);
  std::optional<Bytes> meta;
  std::optional<Bytes> ground_truth;
  while (archive_entry* entry = reader.next()) {
    const std::string name = reader.checked_name(entry);
    if (name.ends_with(kMeta)) meta = reader.read_member(kMaxMemberBytes);
    if (name.ends_with(kGroundTruth)) ground_truth = reader.read_member(kMaxMemberBytes);
  }
  if (!meta || !ground_truth) {
    throw source_error(path, ErrorCode::corrupt, "has no {}; download or copy it again",
                       meta ? kGroundTruth : kMeta);
  }
  return make_devkit(path, *meta, *ground_truth);
}

}  // namespace

int64_t Synsets::label_of(const std::string& wnid) const {
  const auto found = std::ranges::lower_bound(wnids, wnid);
  return found != wnids.end() && *found == wnid ? found - wnids.begin() : -1;
}

std::vector<int64_t> parse_ground_truth(std::string_view text, const Synsets& synsets,
                                        const std::string& origin) {
  std::vector<int64_t> labels;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    int64_t id = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    const auto found = synsets.label_of_id.find(id);
    if (error != std::errc{} || end != line.data() + line.size() ||
        found == synsets.label_of_id.end()) {
      throw source_error(origin, ErrorCode::corrupt,
                         "line {}: '{}' is not the number of a class; get the devkit again", number,
                         line.substr(0, 40));
    }
    labels.push_back(found->second);
  });
  return labels;
}

std::optional<Devkit> find_devkit(const fs::path& folder) {
  if (exists_at(folder / kDevkitArchive)) return read_archive(folder / kDevkitArchive);
  if (is_folder_at(folder / kFolder)) {
    return make_devkit(folder / kFolder,
                       read_source_bytes(folder / kFolder / kMeta, kMaxMemberBytes),
                       read_source_bytes(folder / kFolder / kGroundTruth, kMaxMemberBytes));
  }
  return std::nullopt;
}

}  // namespace ffkit
