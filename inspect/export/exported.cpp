#include "export/exported.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/make_error.h"
#include "export/new_files.h"

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

ExportSource::ExportSource(Dataset dataset, const std::vector<std::string>& fields)
    : dataset_(std::move(dataset)), schema_(dataset_.schema()) {
  if (fields.empty()) return;
  mapping_.stored = std::exchange(schema_, {});
  for (const std::string& name : fields) {
    if (std::ranges::count(fields, name) > 1) {
      throw error_of(ErrorCode::invalid_argument,
                     "--fields names '{}' twice; a field is exported once", name);
    }
    const size_t position = mapping_.stored.require(name);
    schema_.fields.push_back(mapping_.stored.fields[position]);
    mapping_.positions.push_back(static_cast<int64_t>(position));
  }
}

std::string ExportNote::text(bool is_whole) const {
  if (items.empty()) return sentence;
  constexpr size_t kMaxShown = 4;
  const size_t num_shown = is_whole ? items.size() : std::min(items.size(), kMaxShown);
  std::string text =
      fmt::format("{}: {}", sentence, fmt::join(std::span(items).first(num_shown), "; "));
  if (num_shown < items.size()) {
    text += fmt::format("; and {} others, which --json names", items.size() - num_shown);
  }
  return text;
}

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
