#include "dataset/split_name.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace ffkit {

std::string fault_of_split_name(std::string_view name) {
  constexpr size_t kMaxBytes = 200;  // file systems take 255, endings included
  if (name.empty()) return "is empty";
  if (name.size() > kMaxBytes) return fmt::format("is longer than {} bytes", kMaxBytes);
  if (name.find('/') != std::string_view::npos) return "has a '/'";
  // "." and ".." among them, and the marker of unfinished conversions.
  if (name.starts_with('.')) return "begins with a dot";
  if (printable(name) != name) return "has control characters, or is no UTF-8 text";
  if (name == "report.jsonl" || name == "meta.pkl") return "is that of a file of the data set";
  return {};
}

}  // namespace ffkit
