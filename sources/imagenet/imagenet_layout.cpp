#include "imagenet/imagenet_layout.h"

#include <algorithm>
#include <array>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_names.h>

#include "archives/parallel_io.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "files/file_window.h"
#include "imagenet/imagenet_classes.h"
#include "pictures/image_tree.h"

namespace ffkit {
namespace {

constexpr std::array<const char*, 3> kImageNetSplits = {"train", "val", "test"};

// "ILSVRC2012_img_train.tar", and names with a date behind it: the test archive of 2019 is
// ILSVRC2012_img_test_v10102019.tar.
std::vector<fs::path> find_archives(const fs::path& folder, const std::string& split) {
  const std::string exact = fmt::format("ILSVRC2012_img_{}.tar", split);
  refuse_dangling_link(folder / exact);
  if (split != "test") {
    return exists_at(folder / exact) ? std::vector{folder / exact} : std::vector<fs::path>{};
  }
  std::vector<fs::path> archives;
  for (const std::string& name : list_files(folder)) {
    if (name.starts_with("ILSVRC2012_img_test") && name.ends_with(".tar")) {
      archives.push_back(folder / name);
    }
  }
  return archives;
}

// The folder of a split: "val", or else one that is called so, such as "validation". Empty without
// any.
fs::path find_split_folder(const fs::path& folder, const std::string& name) {
  refuse_dangling_link(folder / name);
  if (is_folder_at(folder / name)) return folder / name;
  std::vector<fs::path> called;
  for (const FolderEntry& entry : FolderEntries(folder)) {
    std::error_code error;
    if (split_called(entry.path().filename().string()) == name && entry.is_directory(error)) {
      called.push_back(entry.path());
    }
  }
  std::ranges::sort(called);
  if (called.size() > 1) {
    throw source_error(folder, ErrorCode::invalid_argument,
                       "'{}' and '{}' are both the split '{}'; remove one of them",
                       called[0].filename().string(), called[1].filename().string(), name);
  }
  return called.empty() ? fs::path() : called.front();
}

std::optional<ImageNetSplitPlace> find_split(const fs::path& folder, const std::string& name) {
  const std::vector<fs::path> archives = find_archives(folder, name);
  const fs::path split_folder = find_split_folder(folder, name);
  if (archives.size() > 1) {
    throw source_error(folder, ErrorCode::invalid_argument,
                       "holds {} and {}, which are both the {} split; remove one of them",
                       archives[0].filename().string(), archives[1].filename().string(), name);
  }
  if (!archives.empty()) {
    return ImageNetSplitPlace{name, archives.front(), /*is_archive=*/true, !split_folder.empty()};
  }
  if (!split_folder.empty()) return ImageNetSplitPlace{name, split_folder};
  return std::nullopt;
}

std::vector<ImageNetSplitPlace> find_imagenet_splits(const fs::path& folder) {
  std::vector<ImageNetSplitPlace> splits;
  for (const char* name : kImageNetSplits) {
    if (auto split = find_split(folder, name)) splits.push_back(std::move(*split));
  }
  return splits;
}

// Kaggle's lists lie beside ILSVRC/, three folders above the splits.
std::vector<fs::path> list_folders_for(const fs::path& folder) {
  std::vector<fs::path> folders = {folder};
  if (folder.filename() != "CLS-LOC") return folders;
  constexpr int kLevels = 3;
  fs::path above = folder;
  for (int i = 0; i < kLevels && above.has_parent_path(); ++i) {
    above = above.parent_path();
    if (Place(folder).is_in_store() && !Place(above).is_in_store()) break;  // above the bucket
    folders.push_back(above);
  }
  return folders;
}

// True for the folder of a split by its name and what is in it.
bool is_split_folder(const fs::path& path, const std::string& name) {
  if (std::ranges::find(kImageNetSplits, name) == kImageNetSplits.end()) return false;
  return std::ranges::any_of(list_folders(path), is_wnid) ||
         (name == "train" && !list_class_archives(path).empty()) ||
         (name != "train" && holds_images(path));
}

ImageNetLayout find_all(const fs::path& path) {
  for (const char* below : {"", "Data/CLS-LOC", "ILSVRC/Data/CLS-LOC"}) {
    const fs::path root = *below == '\0' ? path : path / below;
    if (!is_folder_at(root)) continue;
    if (auto splits = find_imagenet_splits(root); !splits.empty()) {
      return {std::move(splits), list_folders_for(root)};
    }
  }
  const std::string name = path.filename().string();
  if (is_split_folder(path, name)) {
    return {{{name, path}}, list_folders_for(path.parent_path())};
  }
  throw source_error(
      path, ErrorCode::not_found,
      "the folder contains neither ILSVRC2012_img_train.tar nor ILSVRC2012_img_val.tar nor a "
      "folder 'train', 'val', 'test' or 'ILSVRC/Data/CLS-LOC'; to convert folders of other "
      "classes, use 'ffconvert folder'");
}

// clang-format off
constexpr std::array kImageNetSums = {
    ArchiveSum{"ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"},
    ArchiveSum{"ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"},
    ArchiveSum{"ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"},
};
// clang-format on

std::string check_archive(const fs::path& path, std::span<const ArchiveSum> sums) {
  const auto sum = std::ranges::find(sums, path.filename().string(), &ArchiveSum::name);
  if (sum == sums.end()) {
    return fmt::format("{}: not checked, because ffkit does not know its MD5 sum", path.string());
  }
  const std::string found = md5_of(InputFile(path));
  if (found != sum->md5) {
    throw source_error(path, ErrorCode::corrupt,
                       "the archive has the MD5 sum {}, but the official archive has {}; download "
                       "the archive again, or leave out {} to convert this archive",
                       found, sum->md5, option_name("check_archives"));
  }
  return fmt::format("{}: the archive has the MD5 sum of the official archive", path.string());
}

}  // namespace

std::vector<std::string> list_class_archives(const fs::path& folder) {
  std::vector<std::string> wnids;
  for (const std::string& name : list_files(folder)) {
    const fs::path file(name);
    if (file.extension() == ".tar" && is_wnid(file.stem().string())) {
      refuse_dangling_link(folder / file);
      wnids.push_back(file.stem().string());
    }
  }
  return wnids;
}

ImageNetLayout find_imagenet(const fs::path& path, const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    if (std::ranges::find(kImageNetSplits, name) == kImageNetSplits.end()) {
      throw error_of(ErrorCode::invalid_argument,
                     "'{}' is not a split of ImageNet; the splits are train, val and test", name);
    }
  }
  ImageNetLayout layout = find_all(path);
  for (const std::string& name : wanted) {
    if (std::ranges::find(layout.splits, name, &ImageNetSplitPlace::name) == layout.splits.end()) {
      throw source_error(path, ErrorCode::not_found, "there is no split '{}'; the splits are {}",
                         name, fmt::join(names_in(layout.splits), ", "));
    }
  }
  if (!wanted.empty()) {
    std::erase_if(layout.splits, [&wanted](const ImageNetSplitPlace& split) {
      return std::ranges::find(wanted, split.name) == wanted.end();
    });
  }
  return layout;
}

std::optional<fs::path> find_list(const ImageNetLayout& layout, const char* name) {
  for (const fs::path& folder : layout.list_folders) {
    if (exists_at(folder / name)) return folder / name;
  }
  return std::nullopt;
}

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

std::vector<std::string> check_archives(const std::vector<fs::path>& archives,
                                        std::span<const ArchiveSum> sums) {
  std::vector<std::string> sentences(archives.size());
  parallel_io_that_throws(archives.size(),
                          [&](size_t i) { sentences[i] = check_archive(archives[i], sums); });
  return sentences;
}

}  // namespace ffkit
