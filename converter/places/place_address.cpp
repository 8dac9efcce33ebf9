#include "places/place_address.h"

#include <string_view>

#include "storage/addresses/address.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileScheme = "file://";

}  // namespace

std::string address_of_place(const fs::path& path) {
  std::string text =
      is_address(path) ? path.native()
                       : std::string(kFileScheme) + fs::absolute(path).lexically_normal().string();
  while (text.ends_with('/') && !text.ends_with("://")) text.pop_back();
  return text;
}

std::string address_below(const std::string& place, const std::string& name) {
  return name.empty() ? place : place + "/" + name;
}

bool is_place_on_disk(const std::string& address) {
  return address.starts_with(kFileScheme);
}

fs::path path_of_place(const std::string& address) {
  return is_place_on_disk(address) ? address.substr(kFileScheme.size()) : address;
}

std::string shown_address_of_place(const std::string& address) {
  return is_place_on_disk(address) ? path_of_place(address).string() : shown_address(address);
}

std::string with_path_of_place(std::string text, const std::string& address) {
  const std::string path = path_of_place(address).string();
  for (size_t at = text.find(address); at != std::string::npos; at = text.find(address, at)) {
    text.replace(at, address.size(), path);
    at += path.size();
  }
  return text;
}

Error error_with_path_of_place(const Error& error, const std::string& address) {
  const auto shown = [&address](const std::string& text) {
    return with_path_of_place(text, address);
  };
  ErrorContext context = error.context();
  context.remedy = shown(context.remedy);
  if (!context.path.starts_with(address)) {
    return error.with_message(shown(error.message())).with_remedy(context.remedy);
  }
  context.path = shown(context.path);
  return {error.code(), shown(error.message()), context};
}

}  // namespace ffkit
