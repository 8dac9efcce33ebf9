#include "coco/labelled_split.h"

#include <algorithm>
#include <utility>

namespace ffkit {

AnnotatedSplit labelled_split(CocoListing from, std::vector<std::string> pictures,
                              const std::vector<std::string>& classes,
                              std::vector<FileStamp> stamps, bool allow_missing,
                              std::vector<std::string>& notes) {
  AnnotatedSplit split{.from = std::move(from)};
  for (std::string& name : pictures) {
    split.file.pictures.push_back(
        {.id = std::ssize(split.file.pictures) + 1, .file_name = std::move(name)});
  }
  for (const std::string& name : classes) {
    split.file.categories.emplace(std::ssize(split.file.categories) + 1, name);
  }
  split.file.has_categories = true;
  split.file.annotations.area.declare({});
  stamps.resize(split.file.pictures.size(), {.num_bytes = -1});
  if (std::ranges::any_of(stamps, [](const FileStamp& s) { return s.num_bytes < 0; })) {
    stamps = look_at_pictures(split.from.images, split.file.pictures);
  }
  split.stamps = std::move(stamps);
  split.taken =
      pictures_that_are_there(split.from, split.file, split.stamps, {}, allow_missing, notes);
  return split;
}

FileBeside file_beside(std::filesystem::path path) {
  std::error_code none;
  const FileStamp stamp = stamp_of(path, none);
  FileBeside file{std::move(path)};
  if (!none) file.stamp = stamp;
  return file;
}

void add_labelled(size_t picture, int64_t k, int64_t category, const BoxEdges& box,
                  CocoAnnotations& all) {
  const auto picture_id = static_cast<int64_t>(picture + 1);
  all.id.push_back(picture_id * 1'000'000 + k);
  all.picture_id.push_back(picture_id);
  all.category_id.push_back(category);
  for (const double edge : {box[0], box[1], box[2] - box[0], box[3] - box[1]}) {
    all.box.push_back(static_cast<float>(edge));
  }
  all.is_crowd.push_back(0);
}

}  // namespace ffkit
