#include "coco/coco_pictures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include <ffkit/base/option_names.h>

#include "archives/parallel_io.h"
#include "converter/input/source_error.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

bool is_inside(const std::string& file_name) {
  const fs::path name(file_name);
  const bool has_end = file_name.find('\0') != std::string::npos;  // as open(2) sees it
  return !name.empty() && !name.is_absolute() && !has_end &&
         std::ranges::find(name, "..") == name.end();
}

// Says which files are missing, as an error or a note.
void say_missing(const fs::path& folder, const std::vector<std::string>& missing, size_t num_all,
                 const char* noun, const CocoPlaces& places, bool is_note,
                 std::vector<std::string>& notes) {
  if (missing.empty()) return;
  const std::string what =
      fmt::format("{} of the {} {} of '{}' are not there: {}{}", missing.size(), num_all, noun,
                  places.annotations.string(),
                  fmt::join(std::span(missing).first(std::min<size_t>(missing.size(), 3)), ", "),
                  missing.size() > 3 ? ", ..." : "");
  if (!is_note) {
    throw source_error(
        folder, ErrorCode::not_found,
        what + "; put them there, or leave them out with " + option_on("allow_missing"));
  }
  notes.push_back(fmt::format("{}: {}; left out", folder.string(), what));
}

}  // namespace

void require_safe_names(const CocoFile& file, const fs::path& annotations) {
  for (const CocoPicture& picture : file.pictures) {
    if (is_inside(picture.file_name)) continue;
    throw source_error(annotations, ErrorCode::unsupported,
                       "picture {} is file '{}', which is not inside the folder of pictures",
                       picture.id, picture.file_name);
  }
  for (const std::string& name : file.panoptic_names) {
    if (name.empty() || is_inside(name)) continue;
    throw source_error(annotations, ErrorCode::unsupported,
                       "the panoptic PNG '{}' is not inside the folder of them", name);
  }
}

std::vector<FileStamp> look_at_pictures(const fs::path& folder,
                                        std::vector<CocoPicture>& pictures) {
  std::vector<FileStamp> stamps(pictures.size(), {.num_bytes = -1});
  parallel_io(pictures.size(), [&](size_t i) {
    const auto look = [&](const std::string& name) {
      std::error_code none;
      const FileStamp stamp = stamp_of(folder / name, none);
      if (!none) stamps[i] = stamp;
      return !none;
    };
    std::string& name = pictures[i].file_name;
    const size_t slash = pictures[i].is_of_url ? name.rfind('/') : std::string::npos;
    if (slash == std::string::npos) {
      look(name);
    } else if (std::string last = name.substr(slash + 1); look(last) || !look(name)) {
      name = std::move(last);
    }
  });
  return stamps;
}

std::vector<FileStamp> look_at_files(const fs::path& folder, std::span<const std::string> names) {
  std::vector<FileStamp> stamps(names.size(), {.num_bytes = -1});
  parallel_io(names.size(), [&](size_t i) {
    std::error_code none;
    if (names[i].empty()) return;
    const FileStamp stamp = stamp_of(folder / names[i], none);
    if (!none) stamps[i] = stamp;
  });
  return stamps;
}

std::vector<size_t> pictures_that_are_there(const CocoPlaces& places, const CocoFile& file,
                                            std::span<const FileStamp> pictures,
                                            std::span<const FileStamp> panoptic, bool allow_missing,
                                            std::vector<std::string>& notes) {
  std::vector<size_t> taken;
  std::vector<std::string> missing;
  std::vector<std::string> missing_pngs;
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (pictures[i].num_bytes < 0) {
      missing.push_back(file.pictures[i].file_name);
    } else if (!panoptic.empty() && panoptic[i].num_bytes < 0) {
      missing_pngs.push_back(file.panoptic_names[i].empty()
                                 ? "that of " + file.pictures[i].file_name
                                 : file.panoptic_names[i]);
    } else {
      taken.push_back(i);
    }
  }
  const bool is_note = allow_missing && !taken.empty();
  say_missing(places.images, missing, pictures.size(), "pictures", places, is_note, notes);
  say_missing(places.panoptic, missing_pngs, pictures.size(), "panoptic PNGs", places, is_note,
              notes);
  return taken;
}

}  // namespace ffkit
