#include "stores/object_store.h"

#include <algorithm>
#include <array>
#include <future>
#include <string_view>

namespace ffkit {
namespace {

constexpr std::array<std::string_view, 6> kSchemes = {"s3://",   "gs://", "https://",
                                                      "http://", "hf://", "file://"};

}  // namespace

bool is_address(const std::filesystem::path& path) {
  const std::string_view text = path.native();
  return std::ranges::any_of(kSchemes, [&](std::string_view scheme) {
    return text.size() > scheme.size() && text.starts_with(scheme);
  });
}

void ObjectStore::read(const std::string& address, int64_t offset, std::span<std::byte> into,
                       const std::string& version) {
  auto answer = std::make_shared<std::promise<void>>();
  std::future<void> result = answer->get_future();
  read(address, offset, into, version, [answer](std::exception_ptr error) {
    if (error == nullptr) {
      answer->set_value();
    } else {
      answer->set_exception(std::move(error));
    }
  });
  result.get();
}

}  // namespace ffkit
