#include "forms/webdataset_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "export/export_names.h"

namespace ffkit {
namespace {

// Whether WebDataset's own reader and tar(1) take the text as it is: nothing that leads elsewhere,
// no dot in the last part, where the extension would begin, and no part that begins with "__",
// which the reader passes over.
bool can_be_key(std::string_view text) {
  if (!is_safe_path(text)) return false;
  const std::string_view name = text.substr(text.rfind('/') + 1);
  return name.find('.') == std::string_view::npos && !text.starts_with("__") &&
         text.find("/__") == std::string_view::npos;
}

bool is_number(std::string_view text, size_t digits) {
  return text.size() == digits &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

WebDatasetKeys::WebDatasetKeys(int64_t num_records)
    : digits_(static_cast<int>(std::to_string(std::max<int64_t>(0, num_records - 1)).size())) {}

bool WebDatasetKeys::take(std::string_view key) {
  return taken_.insert(std::hash<std::string_view>()(key)).second;
}

WebDatasetKey WebDatasetKeys::next(int64_t number, std::string_view id) {
  const std::string own = fmt::format("{:0{}}", number, digits_);
  std::string_view key = id;
  if (has_image_extension(key)) key = key.substr(0, key.rfind('.'));
  const bool is_others = is_number(key, own.size()) && key != own;
  if (can_be_key(key) && !is_others && take(key)) return {std::string(key), key == id};
  // Repeated by --indices: the same number again.
  std::string other = own;
  for (int copy = 2; !take(other); ++copy) other = fmt::format("{}-{}", own, copy);
  return {other, other == id};
}

}  // namespace ffkit
