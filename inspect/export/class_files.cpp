#include "export/class_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "text/output.h"

namespace ffkit {
namespace {

struct ClassLines {
  std::string file;
  std::vector<std::string> lines;
};

void write_lines(const std::filesystem::path& folder, const ClassLines& list, Exported& exported) {
  if (list.lines.empty()) return;
  const auto is_line = [](const std::string& text) {
    return !text.empty() && text.find_first_of("\r\n") == std::string::npos;
  };
  const auto odd = std::ranges::find_if_not(list.lines, is_line);
  if (odd != list.lines.end()) {
    exported.notes.push_back(
        fmt::format("{} is not written: class {}, '{}', cannot be a line of it", list.file,
                    odd - list.lines.begin(), *odd));
    return;
  }
  std::string text;
  for (const std::string& line : list.lines) text += line + "\n";
  write_new_file(folder / list.file, std::as_bytes(std::span(text)));
  exported.class_files.push_back(list.file);
}

}  // namespace

void write_class_files(const std::vector<Dataset>& splits, const std::filesystem::path& folder,
                       Exported& exported) {
  const auto is_like_first = [&splits](const Dataset& dataset) {
    return dataset.manifest().classes == splits.front().manifest().classes &&
           dataset.manifest().class_names == splits.front().manifest().class_names;
  };
  const bool are_alike = std::ranges::all_of(splits, is_like_first);
  if (!are_alike) {
    exported.notes.emplace_back(
        "the splits have different classes, a file each; convert them apart, each with its own");
  }
  for (const Dataset& dataset : splits) {
    const Manifest& manifest = dataset.manifest();
    const std::string ending = are_alike ? ".txt" : fmt::format("-{}.txt", manifest.split);
    write_lines(folder, {"classes" + ending, manifest.classes}, exported);
    write_lines(folder, {"class_names" + ending, manifest.class_names}, exported);
    if (!manifest.class_ids.empty()) {
      exported.notes.push_back(fmt::format(
          "{}: the ids that its classes had at their source are not written", manifest.split));
    }
    if (are_alike) return;
  }
}

}  // namespace ffkit
