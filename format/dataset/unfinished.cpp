#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "base/make_error.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 1 << 16;
constexpr std::string_view kIntroduction =
    "A program writes a data set to this folder, or it ended early: the data set is not "
    "complete.\nThe command below finishes it.\n";

// The rest of the line that begins with `key` and a space.
std::string value_of(std::string_view text, std::string_view key) {
  const std::string begin_of_line = fmt::format("\n{} ", key);
  const size_t found = text.find(begin_of_line);
  if (found == std::string_view::npos) return {};
  const size_t begin = found + begin_of_line.size();
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

bool is_marked(const fs::path& folder) {
  if (Place(folder).is_in_store()) return has_object(folder / kUnfinishedMarker);
  std::error_code unknown;
  return fs::exists(fs::symlink_status(folder / kUnfinishedMarker, unknown));
}

void refuse_if_marked(const fs::path& folder) {
  if (!is_marked(folder)) return;
  const UnfinishedMarker marker = read_unfinished_marker(folder);
  const std::string& command = marker.command;
  if (marker.kind == "split") {
    throw dataset_error(folder, ErrorCode::invalid_argument,
                        "the program that writes this split has not finished (it has the file {}); "
                        "wait for it, or run it again if it was stopped",
                        kUnfinishedMarker);
  }
  throw dataset_error(
      folder, ErrorCode::invalid_argument,
      "the conversion that writes this folder has not finished (it has the file {}); {}",
      kUnfinishedMarker,
      command.empty()
          ? "run the same ffconvert command again with --resume (without --resume it starts over)"
          : "finish it with: " + command);
}

// Without links and dots; as it is where it cannot be examined.
fs::path canonical_of(const fs::path& path) {
  if (Place(path).is_in_store()) return path.has_filename() ? path : path.parent_path();
  std::error_code unknown;
  fs::path canonical = fs::weakly_canonical(fs::absolute(path, unknown), unknown);
  if (unknown) canonical = path;
  return canonical.has_filename() ? canonical : canonical.parent_path();
}

}  // namespace

std::string to_text(const UnfinishedMarker& marker) {
  const bool is_one_line = marker.command.find_first_of("\n\r") == std::string::npos;
  return fmt::format("{}kind {}\nplan {}\ncommand {}\n", kIntroduction, marker.kind, marker.plan,
                     is_one_line ? marker.command : "");
}

UnfinishedMarker parse_unfinished_marker(std::string_view text) {
  return {.kind = value_of(text, "kind"),
          .plan = value_of(text, "plan"),
          .command = value_of(text, "command")};
}

UnfinishedMarker read_unfinished_marker(const fs::path& folder) {
  if (Place(folder).is_in_store()) {
    return parse_unfinished_marker(read_text_at(folder / kUnfinishedMarker, kMostBytes));
  }
  const int fd =
      ::open((folder / kUnfinishedMarker).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return {};
  std::string text(kMostBytes, '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  ::close(fd);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return parse_unfinished_marker(text);
}

void refuse_unfinished(const fs::path& path) {
  const fs::path canonical = canonical_of(path);
  refuse_if_marked(canonical);
  refuse_if_marked(canonical.parent_path());
}

void refuse_unfinished_file(const fs::path& path) {
  refuse_unfinished(canonical_of(path).parent_path());
}

}  // namespace ffkit
