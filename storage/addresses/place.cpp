#include "addresses/place.h"

#include <string_view>

#include "addresses/address.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOnDisk = "file://";

}  // namespace

Place::Place(const fs::path& path) : path_(path) {
  const std::string_view text = path.native();
  const std::string_view start = start_of_address(text);
  is_in_store_ = !start.empty() && text.size() > start.size();
  if (is_in_store_ && !text.starts_with(start)) {
    path_ = std::string(start).append(text.substr(start.size()));
  }
}

bool Place::is_on_disk() const {
  return !is_in_store_ || address().starts_with(kOnDisk);
}

fs::path Place::path_on_disk() const {
  return is_in_store_ && is_on_disk() ? fs::path(address().substr(kOnDisk.size())) : path_;
}

Place Place::child(const std::string& name) const {
  if (name.empty()) return *this;
  Place below = *this;
  below.path_ /= name;
  return below;
}

std::string Place::shown() const {
  return is_on_disk() ? path_on_disk().string() : shown_address(address());
}

Place Place::in_store() const {
  std::string text = is_in_store_
                         ? address()
                         : std::string(kOnDisk) + fs::absolute(path_).lexically_normal().string();
  while (text.ends_with('/') && !text.ends_with("://")) text.pop_back();
  return text;
}

}  // namespace ffkit
