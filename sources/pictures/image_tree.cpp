#include "pictures/image_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>

#include "archives/parallel_io.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "pictures/image_sample.h"

namespace ffkit {
namespace {

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

enum class Wanted { folders, hidden_folders, files };

std::vector<std::string> list_names(const fs::path& folder, Wanted wanted) {
  std::vector<std::string> names;
  while_listing(folder, [&] {
    for (const FolderEntry& entry : FolderEntries(folder)) {
      if (is_hidden(entry.path()) != (wanted == Wanted::hidden_folders)) continue;
      if (wanted == Wanted::folders && !has_image_name(entry.path())) {
        refuse_dangling_link(entry.path());
      }
      std::error_code error;  // a link to nothing is no folder
      if (entry.is_directory(error) == (wanted != Wanted::files)) {
        names.push_back(entry.path().filename().string());
      }
    }
  });
  std::ranges::sort(names);
  return names;
}

// A folder by what it is, whatever the links that lead there.
using FolderId = std::pair<dev_t, ino_t>;

FolderId folder_id(const fs::path& folder) {
  if (Place(folder).is_in_store()) return {0, std::hash<std::string>()(folder.native())};
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    throw source_io_error(folder, "cannot be listed", errno);
  }
  return {status.st_dev, status.st_ino};
}

// The folders that the present one lies in.
class FoldersAbove {
 public:
  void enter(const fs::path& folder) {
    const FolderId id = folder_id(folder);
    if (std::ranges::find(ids_, id) != ids_.end()) {
      throw source_error(folder, ErrorCode::unsupported,
                         "this link points to a folder that contains the link, so the listing "
                         "would never end; remove the link");
    }
    ids_.push_back(id);
  }
  void leave() { ids_.pop_back(); }

 private:
  std::vector<FolderId> ids_;
};

// A link to nothing, by a name without an ending, may have been a folder of pictures.
void refuse_missing_folder(const fs::path& path) {
  if (!is_hidden(path) && !path.has_extension()) refuse_dangling_link(path);
}

bool holds_images_in(const fs::path& folder, FoldersAbove& above) {
  above.enter(folder);
  std::vector<fs::path> folders;
  for (const FolderEntry& entry : FolderEntries(folder)) {
    std::error_code error;
    if (entry.is_directory(error)) {
      if (!is_hidden(entry.path())) folders.push_back(entry.path());
    } else if (is_picture(picture_kind_of(entry.path()))) {
      above.leave();
      return true;
    }
  }
  const bool is_below = std::ranges::any_of(
      folders, [&above](const fs::path& below) { return holds_images_in(below, above); });
  above.leave();
  return is_below;
}

class Lister {
 public:
  Lister(const fs::path& root, ImageListing& listing) : root_(root), listing_(listing) {}

  // The pictures in `folder`, and in the folders in it when `is_deep`.
  void list(const fs::path& folder, bool is_deep) {
    above_.enter(folder);
    for (const FolderEntry& entry : FolderEntries(folder)) {
      std::error_code error;
      if (!entry.is_directory(error)) {
        add(entry.path());
      } else if (is_hidden(entry.path())) {
        if (is_deep && holds_images_in(entry.path(), above_)) ++listing_.num_hidden;
      } else if (is_deep) {
        list(entry.path(), is_deep);
      }
    }
    above_.leave();
  }

 private:
  void add(const fs::path& file) {
    ImageEntry entry{.id = file.lexically_relative(root_).string(), .kind = picture_kind_of(file)};
    if (!is_picture(entry.kind)) {
      refuse_missing_folder(file);
      ++listing_.num_ignored;
      return;
    }
    std::error_code error;
    const FileStamp stamp = stamp_of(file, error);
    if (error && !dangling_link(file).empty()) {
      entry.modified_ns = ImageEntry::kDanglingLink;
      listing_.entries.push_back(std::move(entry));
      return;
    }
    if (error == std::errc::not_supported) {
      throw source_error(file, ErrorCode::unsupported,
                         "the path is not a file, but a FIFO, a socket or a device; remove it");
    }
    if (error) throw fs::filesystem_error("stat", file, error);
    entry.data = {.offset = 0, .num_bytes = stamp.num_bytes};
    entry.modified_ns = stamp.modified_ns;
    listing_.entries.push_back(std::move(entry));
  }

  const fs::path& root_;
  ImageListing& listing_;
  FoldersAbove above_;
};

void list_images(const fs::path& root, const fs::path& folder, bool is_deep,
                 ImageListing& listing) {
  Lister(root, listing).list(folder, is_deep);
  std::ranges::sort(listing.entries, {}, &ImageEntry::id);
}

}  // namespace

std::vector<std::string> list_folders(const fs::path& folder) {
  return list_names(folder, Wanted::folders);
}

std::vector<std::string> list_hidden_folders(const fs::path& folder) {
  return list_names(folder, Wanted::hidden_folders);
}

std::vector<std::string> list_files(const fs::path& folder) {
  return list_names(folder, Wanted::files);
}

bool holds_images(const fs::path& folder) {
  return while_listing(folder, [&] {
    for (const FolderEntry& entry : FolderEntries(folder)) {
      std::error_code error;
      if (!entry.is_directory(error) && is_picture(picture_kind_of(entry.path()))) return true;
    }
    return false;
  });
}

bool holds_images_below(const fs::path& folder) {
  FoldersAbove above;
  return while_listing(folder, [&] { return holds_images_in(folder, above); });
}

ImageListing list_class_folders(const fs::path& root, const std::vector<std::string>& folders) {
  std::vector<ImageListing> listings(folders.size());
  // Each file is looked at for its size: on network file systems that is what takes the time.
  parallel_io_that_throws(folders.size(), [&](size_t i) {
    const fs::path folder = root / folders[i];
    while_listing(folder, [&] { list_images(root, folder, /*is_deep=*/true, listings[i]); });
  });
  ImageListing all;
  for (size_t i = 0; i < folders.size(); ++i) {
    all.num_ignored += listings[i].num_ignored;
    all.num_hidden += listings[i].num_hidden;
    for (ImageEntry& entry : listings[i].entries) {
      entry.folder = i;
      all.entries.push_back(std::move(entry));
    }
  }
  return all;
}

ImageListing list_flat_folder(const fs::path& root) {
  ImageListing listing;
  while_listing(root, [&] { list_images(root, root, /*is_deep=*/false, listing); });
  return listing;
}

ImageListing list_tree(const fs::path& root) {
  ImageListing all = list_flat_folder(root);
  ImageListing below = list_class_folders(root, list_folders(root));
  all.num_ignored += below.num_ignored;
  all.num_hidden += below.num_hidden;
  std::ranges::move(below.entries, std::back_inserter(all.entries));
  std::ranges::sort(all.entries, {}, &ImageEntry::id);
  for (const std::string& hidden : list_hidden_folders(root)) {
    if (holds_images_below(root / hidden)) ++all.num_hidden;
  }
  return all;
}

void note_ignored(const ImageListing& listing, const fs::path& where,
                  std::vector<std::string>& notes) {
  const auto count = [](int64_t number, const char* one, const char* many) {
    return number == 0 ? std::string() : fmt::format("{} {}", number, number == 1 ? one : many);
  };
  const std::string files = count(listing.num_ignored, "file was left out: it is not a picture",
                                  "files were left out: they are not pictures");
  const std::string folders =
      count(listing.num_hidden, "folder of pictures was left out: its name begins with a dot",
            "folders of pictures were left out: their names begin with a dot");
  if (files.empty() && folders.empty()) return;
  const std::string note = fmt::format("{}: {}{}{}", where.string(), files,
                                       files.empty() || folders.empty() ? "" : "; ", folders);
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

}  // namespace ffkit
