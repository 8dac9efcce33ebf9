#include <algorithm>
#include <array>
#include <string_view>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/imagenet.h>

#include "archives/parallel_io.h"
#include "archives/tar_index.h"
#include "converter/input/input_file.h"
#include "converter/input/kind_options.h"
#include "converter/input/names.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "imagenet/imagenet_classes.h"
#include "imagenet/imagenet_layout.h"
#include "imagenet/imagenet_lists.h"
#include "pictures/image_sample.h"
#include "pictures/image_source.h"
#include "pictures/image_tree.h"

namespace ffkit {
namespace {

// A split as it was found, before labels are known.
struct FoundSplit {
  ImageSplit split;
  std::vector<std::string> wnids;  // of the entries' folders; empty for pictures that lie flat
  std::vector<std::string> notes;
  int64_t num_ignored = 0;
  int64_t num_hidden = 0;
};

// tar lets later members replace earlier ones; in an archive of pictures that is damage.
void refuse_twice(const std::vector<TarMember>& members, const std::string& archive) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const TarMember& member : members) names.push_back(member.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) {
    throw source_error(archive, ErrorCode::unsupported,
                       "the archive contains two members '{}'; download or copy the archive again",
                       *twice);
  }
}

// list(0) .. list(count - 1), side by side. Throws the first error.
template <typename List>
std::vector<ImageListing> list_in_parallel(size_t count, const List& list) {
  std::vector<ImageListing> members(count);
  parallel_io_that_throws(count, [&](size_t i) { members[i] = list(i); });
  return members;
}

// The pictures among the members of `archive`, in their order.
ImageListing pictures_of(std::vector<TarMember> members, const InputFile& archive) {
  ImageListing listing;
  for (TarMember& member : members) {
    if (is_picture(picture_kind_of(member.name, archive, member.data))) {
      listing.entries.push_back({.id = std::move(member.name), .data = member.data});
    } else {
      ++listing.num_ignored;
    }
  }
  return listing;
}

// The pictures of the archive of class `wnid`, by its position.
void add_members(ImageListing members, size_t wnid, FoundSplit& found) {
  found.num_ignored += members.num_ignored;
  for (ImageEntry& member : members.entries) {
    member.id = found.wnids[wnid] + "/" + member.id;
    member.folder = wnid;
    found.split.entries.push_back(std::move(member));
  }
}

// The class archives of the train archive, indexed where they lie.
void read_class_archives(const InputFile& archive_of_all, FoundSplit& found) {
  const fs::path& path = archive_of_all.path();
  std::vector<TarMember> archives = index_tar(archive_of_all);
  refuse_twice(archives, path.string());
  std::ranges::sort(archives, {}, &TarMember::name);
  for (const TarMember& archive : archives) {
    const fs::path name(archive.name);
    if (name.extension() != ".tar" || name.has_parent_path()) {
      throw source_error(path, ErrorCode::unsupported,
                         "member '{}' is not a class archive (n01440764.tar, ...); extract the "
                         "archive to a folder 'train' and convert this folder",
                         archive.name);
    }
    found.wnids.push_back(name.stem().string());
  }
  const auto members = list_in_parallel(archives.size(), [&](size_t i) {
    const std::string name = path.string() + ": " + archives[i].name;
    std::vector<TarMember> in_archive =
        index_tar(archive_of_all, archives[i].data, name, archives.size());
    refuse_twice(in_archive, name);
    return pictures_of(std::move(in_archive), archive_of_all);
  });
  for (size_t i = 0; i < archives.size(); ++i) add_members(std::move(members[i]), i, found);
}

// Pictures without classes, in any folder of the archive.
void read_flat_archive(const InputFile& archive, FoundSplit& found) {
  std::vector<TarMember> members = index_tar(archive);
  // Only the last part of their names counts.
  for (TarMember& member : members) member.name = fs::path(member.name).filename().string();
  refuse_twice(members, archive.path().string());
  std::ranges::sort(members, {}, &TarMember::name);
  ImageListing listing = pictures_of(std::move(members), archive);
  found.num_ignored += listing.num_ignored;
  found.split.entries = std::move(listing.entries);
}

// Folders such as a file server's own, without pictures, are no classes.
std::vector<std::string> list_classes(const fs::path& path, FoundSplit& found) {
  std::vector<std::string> classes;
  std::vector<std::string> others;
  for (std::string& name : list_folders(path)) {
    const bool is_class = is_wnid(name) || holds_images_below(path / name);
    (is_class ? classes : others).push_back(std::move(name));
  }
  for (const std::string& name : others) {
    add_note(found.notes, (path / name).string(), "holds no pictures and is left out");
  }
  return classes;
}

// n01440764.tar, ... in the folder `path`, as the train archive holds them: an ImageNet that is
// half unpacked. A folder of the same class may be unpacked in part, and the archive is whole.
void read_half_unpacked(const fs::path& path, const std::vector<std::string>& archives,
                        FoundSplit& found) {
  const std::vector<std::string> folders = found.wnids;
  std::vector<std::string> wnids = archives;
  wnids.insert(wnids.end(), folders.begin(), folders.end());
  std::ranges::sort(wnids);
  // Not of std::ranges: clang-tidy 14 cannot read libstdc++'s subrange.
  wnids.erase(std::unique(wnids.begin(), wnids.end()), wnids.end());
  found.wnids = std::move(wnids);
  const auto position_of = [&found](const std::string& wnid) {
    return static_cast<size_t>(std::ranges::lower_bound(found.wnids, wnid) - found.wnids.begin());
  };
  std::vector<ClassArchive> class_archives(archives.size());
  const auto members = list_in_parallel(archives.size(), [&](size_t i) {
    const InputFile file(path / (archives[i] + ".tar"));
    file.expect_scattered_reads();
    class_archives[i] = {.path = file.path(), .stamp = file.stamp()};
    std::vector<TarMember> in_archive = index_tar(file, archives.size());
    refuse_twice(in_archive, file.path().string());
    return pictures_of(std::move(in_archive), file);
  });
  for (size_t i = 0; i < archives.size(); ++i) {
    add_members(std::move(members[i]), position_of(archives[i]), found);
    found.split.class_archives[position_of(archives[i])] = std::move(class_archives[i]);
  }
  std::vector<std::string> whole;
  for (const std::string& folder : folders) {
    if (std::ranges::find(archives, folder) == archives.end()) {
      whole.push_back(folder);
    } else {
      add_note(found.notes, (path / (folder + ".tar")).string(),
               "the folder '{}' beside it is not read", folder);
    }
  }
  ImageListing listing = list_class_folders(path, whole);
  for (ImageEntry& entry : listing.entries) {
    entry.folder = position_of(whole[entry.folder]);
    found.split.entries.push_back(std::move(entry));
  }
  std::ranges::stable_sort(found.split.entries, {}, &ImageEntry::folder);
  found.num_ignored += listing.num_ignored;
  found.num_hidden = listing.num_hidden;
}

void read_tree(const fs::path& path, FoundSplit& found) {
  found.wnids = list_classes(path, found);
  if (const auto archives = list_class_archives(path);
      found.split.is_training && !archives.empty()) {
    read_half_unpacked(path, archives, found);
    return;
  }
  const bool is_flat = found.wnids.empty();
  if (is_flat && found.split.is_training) {
    throw source_error(path, ErrorCode::not_found,
                       "the folder contains no class folders (n01440764, ...)");
  }
  if (!is_flat && holds_images(path)) {
    throw source_error(path, ErrorCode::invalid_argument,
                       "the folder contains pictures and also class folders ('{}'); move the "
                       "pictures or the class folders to another folder",
                       found.wnids.front());
  }
  ImageListing listing = is_flat ? list_flat_folder(path) : list_class_folders(path, found.wnids);
  found.split.entries = std::move(listing.entries);
  found.num_ignored = listing.num_ignored;
  found.num_hidden = listing.num_hidden;
}

FoundSplit read_split(const ImageNetSplitPlace& place) {
  FoundSplit found{
      .split = {.name = place.name, .is_training = place.name == "train", .path = place.path}};
  if (!place.is_archive) {
    read_tree(place.path, found);
    return found;
  }
  const auto archive = std::make_shared<const InputFile>(place.path);
  // Headers first, then pictures that are announced one by one: the kernel's guesses would only add
  // to both.
  archive->expect_scattered_reads();
  if (found.split.is_training) {
    read_class_archives(*archive, found);
  } else {
    read_flat_archive(*archive, found);
  }
  found.split.archive = archive;
  return found;
}

// Sets the labels; returns what the split is, for the user.
std::string label_split(FoundSplit& found, const ImageNetLabels& labels, bool allow_partial) {
  ImageSplit& split = found.split;
  const char* kind = split.archive ? "archive"
                     : split.class_archives.size() == found.wnids.size() && !found.wnids.empty()
                         ? "class archives"
                     : !split.class_archives.empty() ? "class archives and folders"
                     : found.wnids.empty()           ? "flat folder"
                                                     : "class folders";
  if (!found.wnids.empty()) {
    std::vector<int64_t> label_of_folder;
    for (const std::string& wnid : found.wnids) {
      label_of_folder.push_back(labels.label_of(wnid, split.path));
    }
    for (ImageEntry& entry : split.entries) entry.label = label_of_folder[entry.folder];
    return fmt::format("{} ({})", split.name, kind);
  }
  if (split.name == "test") {
    return fmt::format("{} ({} without labels)", split.name, kind);
  }
  const ImageNetLabels::ValLabels val = labels.label_val(split.entries, split.path, allow_partial);
  if (val.num_missing > 0) {
    add_note(found.notes, split.path.string(), "{} of the {} pictures that have labels {} missing",
             val.num_missing, val.num_missing + std::ssize(split.entries),
             val.num_missing == 1 ? "is" : "are");
  }
  return fmt::format("{} ({}, labels from {})", split.name, kind, val.origin);
}

std::vector<std::string> notes_on(const FoundSplit& found, size_t num_classes) {
  std::vector<std::string> notes = found.notes;
  note_ignored({.num_ignored = found.num_ignored, .num_hidden = found.num_hidden}, found.split.path,
               notes);
  std::vector<bool> is_there(num_classes, false);
  for (const ImageEntry& entry : found.split.entries) {
    if (entry.label >= 0) is_there[static_cast<size_t>(entry.label)] = true;
  }
  const auto num_there = static_cast<size_t>(std::ranges::count(is_there, true));
  if (!found.wnids.empty() && num_there < num_classes) {
    add_note(notes, found.split.path.string(),
             "has pictures of {} of the {} classes; labels are numbers in the full list", num_there,
             num_classes);
  }
  return notes;
}

// The archives that are read, the devkit's included.
std::vector<fs::path> archives_of(const ImageNetLayout& layout, const fs::path& path) {
  std::vector<fs::path> archives;
  for (const ImageNetSplitPlace& place : layout.splits) {
    if (place.is_archive) archives.push_back(place.path);
  }
  if (const auto devkit = find_list(layout, kDevkitArchive)) archives.push_back(*devkit);
  if (archives.empty()) {
    throw source_error(
        path, ErrorCode::invalid_argument,
        option_on("check_archives") +
            " checks archives, but this source has no archives; leave out this option");
  }
  return archives;
}

// "has only train pictures" when one of the two that training takes is missing.
std::string missing_note(const std::vector<ImageNetSplitPlace>& splits, const fs::path& path) {
  const auto has = [&splits](const char* name) {
    return std::ranges::find(splits, name, &ImageNetSplitPlace::name) != splits.end();
  };
  if (has("train") == has("val")) return {};
  return fmt::format("{}: has only {} pictures; the data set will have no '{}'", path.string(),
                     has("train") ? "train" : "val", has("train") ? "val" : "train");
}

class ImageNetKind final : public KindOptions<ImageNetOptions, open_imagenet> {
 public:
  void describe(OptionTable& table) override {
    table.add_names("splits", options_.splits, "Splits to convert, such as train or train,val")
        .set_default("all that are there");
    table.add("check-archives", options_.check_archives,
              "Compares the MD5 sums of the archives with the official sums before the conversion, "
              "which reads all archives");
    table.add(
        "allow-partial", options_.allow_partial,
        "Allows that validation pictures are missing. A note says how many pictures are missing");
  }

  void check(const OptionTable& /*table*/) const override {
    constexpr std::array<std::string_view, 3> kSplits = {"train", "val", "test"};
    require_names("splits", options_.splits, kSplits);
  }
};

}  // namespace

std::unique_ptr<Source> open_imagenet(const fs::path& path, const ImageNetOptions& options) {
  const PlacesListed listed;
  require_source_folder(path);
  ImageSet set{.kind = "imagenet", .path = canonical_place(path), .storage = options.images};
  const ImageNetLayout layout = find_imagenet(set.path, options.splits);
  std::vector<std::string> checks;
  if (options.check_archives) checks = check_archives(archives_of(layout, path));
  const ImageNetLabels labels(layout);
  const size_t num_classes = labels.classes().wnids.size();
  // The training split last: listing it takes long, and labels may be missing for the others.
  std::vector<FoundSplit> splits(layout.splits.size());
  std::vector<std::string> found_as(splits.size());
  for (size_t i = splits.size(); i-- > 0;) {
    splits[i] = read_split(layout.splits[i]);
    found_as[i] = label_split(splits[i], labels, options.allow_partial);
  }
  add_note(set.notes, set.path.string(), "{}; {} classes from {}", fmt::join(found_as, ", "),
           num_classes, labels.origin());
  std::ranges::move(checks, std::back_inserter(set.notes));
  for (const ImageNetSplitPlace& place : layout.splits) {
    if (!place.is_archive && place.path.filename() != place.name) {
      add_note(set.notes, place.path.string(), "is the split '{}'", place.name);
    }
    if (place.has_unused_folder) {
      add_note(set.notes, place.path.string(), "the folder '{}' beside it is not read", place.name);
    }
  }
  if (options.splits.empty()) {
    if (std::string note = missing_note(layout.splits, set.path); !note.empty()) {
      set.notes.push_back(std::move(note));
    }
  }
  for (FoundSplit& found : splits) {
    std::ranges::move(notes_on(found, num_classes), std::back_inserter(set.notes));
    if (!found.split.archive) set.roots.push_back(found.split.path);
    set.splits.push_back(std::move(found.split));
  }
  set.classes = labels.classes().wnids;
  set.class_names = labels.classes().words;
  return make_image_source(std::move(set));
}

SourceKind imagenet_kind() {
  return {.name = "imagenet",
          .description =
              "ImageNet (ILSVRC2012): the official archives, extracted folders, or "
              "Kaggle's layout",
          .example = "/data/imagenet /fast/imagenet",
          .options = make_source_options<ImageNetKind>,
          .pictures = PictureUse::all,
          .takes_exif = true,
          .place = 10};
}

}  // namespace ffkit
