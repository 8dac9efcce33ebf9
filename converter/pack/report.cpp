#include "pack/report.h"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

namespace ffkit {
namespace {

std::string line(const Source& source, size_t split, int64_t sample, std::string reason,
                 const std::string& action) {
  const std::string origin = source.describe(split, sample);
  if (reason.starts_with(origin + ": ")) reason.erase(0, origin.size() + 2);
  const nlohmann::ordered_json json = {{"split", source.splits()[split].name},
                                       {"source", origin},
                                       {"reason", reason},
                                       {"action", action}};
  // File names need not be UTF-8, JSON must be.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string report_lines(const Source& source, size_t split, int64_t sample,
                         const EncodedSample& encoded) {
  if (encoded.error) return line(source, split, sample, encoded.error->what(), "left out");
  std::string lines;
  for (const SampleProblem& problem : encoded.problems) {
    lines += line(source, split, sample, problem.reason, problem.action);
  }
  return lines;
}

void ReportFile::add(std::string_view lines) {
  if (lines.empty()) return;
  if (!file_) file_ = File::create(temporary());
  file_->write(std::as_bytes(std::span(lines)));
  num_lines_ += std::ranges::count(lines, '\n');
}

void ReportFile::finish() {
  if (!file_) return;
  file_->sync();
  file_->close();
  rename_durably(temporary(), path_);
  file_.reset();
}

std::filesystem::path ReportFile::temporary() const {
  std::filesystem::path temporary = path_;
  return temporary += ".tmp";
}

std::string read_text_file(const std::filesystem::path& path) {
  const File file = File::open_for_reading(path);
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  File file = File::create(temporary);
  file.write(std::as_bytes(std::span(text)));
  file.sync();
  file.close();
  rename_durably(temporary, path);
}

}  // namespace ffkit
