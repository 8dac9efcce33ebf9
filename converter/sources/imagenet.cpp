#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

#include "devkit.h"
#include "image_sample.h"
#include "image_source.h"
#include "image_tree.h"
#include "parallel_io.h"
#include "tar_index.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainArchive = "ILSVRC2012_img_train.tar";
constexpr const char* kValArchive = "ILSVRC2012_img_val.tar";
constexpr const char* kNeedDevkit =
    "the labels of the validation pictures are in the devkit: put ILSVRC2012_devkit_t12.tar.gz "
    "beside it";

// A split as it was found, before labels are known.
struct FoundSplit {
  ImageSplit split;
  std::vector<std::string>
      wnids;  // that the entries' labels point into; empty for flat validation pictures
  int64_t num_ignored = 0;
};

// The class archives of the train archive, indexed where they lie.
FoundSplit read_train_archive(const fs::path& path) {
  FoundSplit found{.split = {.name = "train", .is_training = true, .path = path}};
  found.split.archive = std::make_shared<const InputFile>(path);
  const InputFile headers(path);
  headers.expect_scattered_reads();
  std::vector<TarMember> archives = index_tar(headers);
  std::ranges::sort(archives, {}, &TarMember::name);
  for (const TarMember& archive : archives) {
    if (fs::path(archive.name).extension() != ".tar") {
      throw Error(ErrorCode::unsupported,
                  fmt::format("member '{}' is no class archive (n01440764.tar, ...); extract the "
                              "archive to 'train' and convert that",
                              archive.name),
                  {.path = path.string()});
    }
    found.wnids.push_back(fs::path(archive.name).stem().string());
  }
  std::vector<std::vector<TarMember>> members(archives.size());
  std::vector<std::optional<Error>> errors(archives.size());
  parallel_io(archives.size(), [&](size_t i) {
    try {
      members[i] = index_tar(headers, archives[i].data, path.string() + ": " + archives[i].name);
    } catch (const Error& error) {
      errors[i] = error;
    }
  });
  for (size_t i = 0; i < archives.size(); ++i) {
    if (errors[i]) throw *errors[i];
    for (TarMember& member : members[i]) {
      if (!has_image_name(member.name)) {
        ++found.num_ignored;
        continue;
      }
      found.split.entries.push_back({.id = found.wnids[i] + "/" + member.name,
                                     .label = static_cast<int64_t>(i),
                                     .data = member.data});
    }
  }
  return found;
}

FoundSplit read_val_archive(const fs::path& path) {
  FoundSplit found{.split = {.name = "val", .path = path}};
  found.split.archive = std::make_shared<const InputFile>(path);
  const InputFile headers(path);
  headers.expect_scattered_reads();
  for (TarMember& member : index_tar(headers)) {
    if (!has_image_name(member.name)) {
      ++found.num_ignored;
      continue;
    }
    found.split.entries.push_back(
        {.id = fs::path(member.name).filename().string(), .data = member.data});
  }
  std::ranges::sort(found.split.entries, {}, &ImageEntry::id);
  return found;
}

FoundSplit read_tree(const fs::path& path, const std::string& name) {
  FoundSplit found{.split = {.name = name, .is_training = name == "train", .path = path}};
  found.wnids = list_folders(path);
  if (found.split.is_training && found.wnids.empty()) {
    throw Error(ErrorCode::not_found, "holds no class folders (n01440764, ...)",
                {.path = path.string()});
  }
  ImageListing listing =
      found.wnids.empty() ? list_flat_folder(path) : list_class_folders(path, found.wnids);
  found.split.entries = std::move(listing.entries);
  found.num_ignored = listing.num_ignored;
  return found;
}

std::optional<FoundSplit> find_split(const fs::path& folder, const std::string& name) {
  const bool is_train = name == "train";
  const fs::path archive = folder / (is_train ? kTrainArchive : kValArchive);
  if (fs::exists(archive)) {
    return is_train ? read_train_archive(archive) : read_val_archive(archive);
  }
  if (fs::is_directory(folder / name)) return read_tree(folder / name, name);
  return std::nullopt;
}

// Labels from the class folders' names.
void label_by_wnid(FoundSplit& found, const Synsets& synsets) {
  std::vector<int64_t> labels;
  for (const std::string& wnid : found.wnids) {
    labels.push_back(synsets.label_of(wnid));
    if (labels.back() < 0) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("'{}' is not one of the {} classes of the devkit", wnid,
                              synsets.wnids.size()),
                  {.path = found.split.path.string()});
    }
  }
  for (ImageEntry& entry : found.split.entries) {
    entry.label = labels[static_cast<size_t>(entry.label)];
  }
}

// Labels from the devkit's list, line i for the i-th picture by name.
void label_by_ground_truth(FoundSplit& found, const std::optional<Devkit>& devkit) {
  const std::string path = found.split.path.string();
  if (!devkit) throw Error(ErrorCode::not_found, kNeedDevkit, {.path = path});
  auto& entries = found.split.entries;
  if (entries.size() != devkit->val_labels.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("holds {} pictures, but the devkit has labels for {}: they do not "
                            "belong together, or pictures are missing; get both again",
                            entries.size(), devkit->val_labels.size()),
                {.path = path});
  }
  for (size_t i = 0; i < entries.size(); ++i) entries[i].label = devkit->val_labels[i];
}

// Without a devkit, the classes are what the folders say.
Synsets classes_of(const std::vector<FoundSplit>& splits) {
  std::set<std::string> wnids;
  for (const FoundSplit& found : splits) wnids.insert(found.wnids.begin(), found.wnids.end());
  return {.wnids = {wnids.begin(), wnids.end()}};
}

std::vector<std::string> make_notes(const std::vector<FoundSplit>& splits, const Synsets& synsets,
                                    bool has_devkit, const fs::path& path) {
  std::vector<std::string> notes;
  if (!has_devkit) {
    notes.push_back(fmt::format(
        "{}: no devkit; the {} classes are the sorted folder names, without readable names",
        path.string(), synsets.wnids.size()));
  }
  if (splits.size() == 1) {
    notes.push_back(fmt::format("{}: only {} pictures are there; the data set will have no '{}'",
                                path.string(), splits[0].split.name,
                                splits[0].split.is_training ? "val" : "train"));
  }
  for (const FoundSplit& found : splits) {
    if (std::string note = ignored_note(found.num_ignored, found.split.path); !note.empty()) {
      notes.push_back(std::move(note));
    }
    if (!found.wnids.empty() && found.wnids.size() < synsets.wnids.size()) {
      notes.push_back(fmt::format("{}: pictures of {} of the {} classes", found.split.path.string(),
                                  found.wnids.size(), synsets.wnids.size()));
    }
  }
  return notes;
}

}  // namespace

std::unique_ptr<Source> open_imagenet(const fs::path& path, const ImageStorage& images) {
  if (!fs::is_directory(path)) {
    throw Error(ErrorCode::not_found, "there is no such folder", {.path = path.string()});
  }
  ImageSet set{.kind = "imagenet", .path = fs::canonical(path), .storage = images};
  std::optional<Devkit> devkit = find_devkit(set.path);
  std::vector<FoundSplit> splits;
  for (const char* name : {"train", "val"}) {
    if (auto found = find_split(set.path, name)) splits.push_back(std::move(*found));
  }
  if (splits.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("holds neither {} nor {} nor a folder 'train' or 'val'", kTrainArchive,
                            kValArchive),
                {.path = path.string()});
  }
  Synsets synsets = devkit ? devkit->synsets : classes_of(splits);
  for (FoundSplit& found : splits) {
    if (found.wnids.empty()) {
      label_by_ground_truth(found, devkit);
    } else {
      label_by_wnid(found, synsets);
    }
  }
  set.notes = make_notes(splits, synsets, devkit.has_value(), set.path);
  for (FoundSplit& found : splits) {
    if (!found.split.archive) set.roots.push_back(found.split.path);
    set.splits.push_back(std::move(found.split));
  }
  set.classes = std::move(synsets.wnids);
  set.class_names = std::move(synsets.words);
  return make_image_source(std::move(set));
}

}  // namespace ffkit
