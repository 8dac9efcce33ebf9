#include "image_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <ffkit/format/error.h>

#include "image_sample.h"
#include "parallel_io.h"

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

template <typename Iterator>
void list_images(const fs::path& root, Iterator iterator, ImageListing& listing) {
  for (; iterator != end(iterator); ++iterator) {
    const fs::directory_entry& entry = *iterator;
    if constexpr (requires { iterator.disable_recursion_pending(); }) {
      if (entry.is_directory() && is_hidden(entry.path())) iterator.disable_recursion_pending();
    }
    if (entry.is_directory()) continue;
    if (!has_image_name(entry.path())) {
      ++listing.num_ignored;
      continue;
    }
    const fs::file_status status = entry.status();
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      throw Error(ErrorCode::unsupported,
                  "is no file but a FIFO, a socket or a device; take it away",
                  {.path = entry.path().string()});
    }
    listing.entries.push_back(
        {.id = entry.path().lexically_relative(root).string(),
         .data = {.offset = 0, .num_bytes = static_cast<int64_t>(entry.file_size())}});
  }
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
      list_images(root, fs::recursive_directory_iterator(folder), listings[i]);
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
    list_images(root, fs::directory_iterator(root), listing);
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
