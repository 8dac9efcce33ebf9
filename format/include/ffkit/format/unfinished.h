// The marker of an unfinished data set folder (kUnfinishedMarker): the kind of work, and the
// command that finishes it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ffkit {

struct UnfinishedMarker {
  std::string kind;     // "conversion", "merge", "v1" or "split"; empty: not known
  std::string plan;     // a word that identifies what is made; empty: there is no plan yet
  std::string command;  // for a shell, one line; empty: not known
};

// Returns the text of the marker file, without a command that has several lines.
std::string to_text(const UnfinishedMarker& marker);
// Takes any text. Members that the text does not name stay empty.
UnfinishedMarker parse_unfinished_marker(std::string_view text);
// The marker of `folder`; members are empty if there is none or it cannot be read.
UnfinishedMarker read_unfinished_marker(const std::filesystem::path& folder);

// Throws Error(invalid_argument), with the command that finishes the folder, if `path` (a folder of
// a data set or split) or its parent folder has the marker. Links and "." are followed. `path` need
// not exist.
void refuse_unfinished(const std::filesystem::path& path);
// The same for a file, and for the two folders above it.
void refuse_unfinished_file(const std::filesystem::path& path);

}  // namespace ffkit
