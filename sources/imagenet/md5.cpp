#include "imagenet/md5.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "converter/input/source_error.h"

namespace ffkit {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

std::string md5_of(const InputFile& file) {
  constexpr int64_t kBlockBytes = 1 << 20;
  const auto check = [&file](int is_done) {
    if (is_done != 1) {
      throw source_error(file.path(), ErrorCode::unsupported,
                         "OpenSSL does not compute MD5 on this machine");
    }
  };
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  check(context != nullptr ? 1 : 0);
  check(EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr));
  std::vector<std::byte> block(kBlockBytes);
  for (int64_t offset = 0; offset < file.size(); offset += kBlockBytes) {
    const auto num_bytes = static_cast<size_t>(std::min(kBlockBytes, file.size() - offset));
    file.read_at(offset, std::span(block).first(num_bytes));
    check(EVP_DigestUpdate(context.get(), block.data(), num_bytes));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  check(EVP_DigestFinal_ex(context.get(), digest.data(), &length));
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace ffkit
