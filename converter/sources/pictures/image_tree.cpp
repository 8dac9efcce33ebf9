#include "sources/pictures/image_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <ffkit/format/error.h>

#include "input/input_file.h"
#include "sources/archives/parallel_io.h"
#include "sources/pictures/image_sample.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_list(const fs::filesystem_error& error, const fs::path& folder) {
  throw Error(ErrorCode::io, "cannot be listed",
              {.path = (error.path1().empty() ? folder : error.path1()).string(),
               .errno_value = error.code().value()});
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

std::vector<std::string> list_names(const fs::path& folder, bool are_folders) {
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (!is_hidden(entry.path()) && entry.is_directory() == are_folders) {
        names.push_back(entry.path().filename().string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    cannot_list(error, folder);
  }
  std::ranges::sort(names);
  return names;
}

// A folder by what it is, whatever the links that lead there.
using FolderId = std::pair<dev_t, ino_t>;

FolderId folder_id(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    throw Error(ErrorCode::io, "cannot be listed", {.path = folder.string(), .errno_value = errno});
  }
  return {status.st_dev, status.st_ino};
}

class Lister {
 public:
  Lister(const fs::path& root, ImageListing& listing) : root_(root), listing_(listing) {}

  // The pictures in `folder`, and in the folders in it when `is_deep`.
  void list(const fs::path& folder, bool is_deep) {
    const FolderId id = folder_id(folder);
    if (std::ranges::find(above_, id) != above_.end()) {
      throw Error(ErrorCode::unsupported,
                  "is a link to a folder that it lies in, so listing would never end; take it away",
                  {.path = folder.string()});
    }
    above_.push_back(id);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (!entry.is_directory()) {
        add(entry.path());
      } else if (is_deep && !is_hidden(entry.path())) {
        list(entry.path(), is_deep);
      }
    }
    above_.pop_back();
  }

 private:
  void add(const fs::path& file) {
    if (!has_image_name(file)) {
      ++listing_.num_ignored;
      return;
    }
    std::error_code error;
    const FileStamp stamp = stamp_of(file, error);
    if (error == std::errc::not_supported) {
      throw Error(ErrorCode::unsupported,
                  "is no file but a FIFO, a socket or a device; take it away",
                  {.path = file.string()});
    }
    if (error) throw fs::filesystem_error("stat", file, error);
    listing_.entries.push_back({.id = file.lexically_relative(root_).string(),
                                .data = {.offset = 0, .num_bytes = stamp.num_bytes},
                                .modified_ns = stamp.modified_ns});
  }

  const fs::path& root_;
  ImageListing& listing_;
  std::vector<FolderId> above_;  // the folders that the present one lies in
};

void list_images(const fs::path& root, const fs::path& folder, bool is_deep,
                 ImageListing& listing) {
  Lister(root, listing).list(folder, is_deep);
  std::ranges::sort(listing.entries, {}, &ImageEntry::id);
}

}  // namespace

std::vector<std::string> list_folders(const fs::path& folder) {
  return list_names(folder, /*are_folders=*/true);
}

std::vector<std::string> list_files(const fs::path& folder) {
  return list_names(folder, /*are_folders=*/false);
}

bool holds_images(const fs::path& folder) {
  try {
    return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(),
                       [](const fs::directory_entry& entry) {
                         return has_image_name(entry.path()) && !entry.is_directory();
                       });
  } catch (const fs::filesystem_error& error) {
    cannot_list(error, folder);
  }
}

ImageListing list_class_folders(const fs::path& root, const std::vector<std::string>& folders) {
  std::vector<ImageListing> listings(folders.size());
  std::vector<std::optional<Error>> errors(folders.size());
  // Each file is looked at for its size: on network file systems that is what takes the time.
  parallel_io(folders.size(), [&](size_t i) {
    const fs::path folder = root / folders[i];
    try {
      list_images(root, folder, /*is_deep=*/true, listings[i]);
    } catch (const fs::filesystem_error& error) {
      try {
        cannot_list(error, folder);
      } catch (const Error& converted) {
        errors[i] = converted;
      }
    } catch (const Error& error) {
      errors[i] = error;
    }
  });
  ImageListing all;
  for (size_t i = 0; i < folders.size(); ++i) {
    if (errors[i]) throw *errors[i];
    all.num_ignored += listings[i].num_ignored;
    for (ImageEntry& entry : listings[i].entries) {
      entry.label = static_cast<int64_t>(i);
      all.entries.push_back(std::move(entry));
    }
  }
  return all;
}

ImageListing list_flat_folder(const fs::path& root) {
  ImageListing listing;
  try {
    list_images(root, root, /*is_deep=*/false, listing);
  } catch (const fs::filesystem_error& error) {
    cannot_list(error, root);
  }
  return listing;
}

std::string ignored_note(int64_t num_ignored, const fs::path& where) {
  if (num_ignored == 0) return {};
  return fmt::format("{}: {} {} no picture by {} name and left out", where.string(), num_ignored,
                     num_ignored == 1 ? "file is" : "files are",
                     num_ignored == 1 ? "its" : "their");
}

}  // namespace ffkit
