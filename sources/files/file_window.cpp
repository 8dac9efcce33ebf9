#include "files/file_window.h"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "base/make_error.h"

namespace ffkit {
namespace {

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// By hashlib's names.
const EVP_MD* digest_called(std::string_view algorithm) {
  struct Known {
    std::string_view name;
    const EVP_MD* (*digest)();
  };
  static constexpr Known kKnown[] = {
      {"blake2b", EVP_blake2b512}, {"blake2s", EVP_blake2s256}, {"md5", EVP_md5},
      {"sha1", EVP_sha1},          {"sha224", EVP_sha224},      {"sha256", EVP_sha256},
      {"sha384", EVP_sha384},      {"sha512", EVP_sha512},      {"sha3_224", EVP_sha3_224},
      {"sha3_256", EVP_sha3_256},  {"sha3_384", EVP_sha3_384},  {"sha3_512", EVP_sha3_512},
  };
  for (const Known& known : kKnown) {
    if (known.name == algorithm) return known.digest();
  }
  return nullptr;
}

}  // namespace

bool is_known_hash(std::string_view algorithm) {
  return digest_called(algorithm) != nullptr;
}

std::optional<std::string> hash_of_file(std::string_view algorithm, int64_t num_bytes,
                                        const ReadBytes& read) {
  constexpr int64_t kHashBlockBytes = 1 << 20;
  const EVP_MD* const digest = digest_called(algorithm);
  if (digest == nullptr) return std::nullopt;
  const auto check = [&](bool is_done) {
    if (!is_done) {
      throw error_of(ErrorCode::unsupported, "OpenSSL does not compute {} on this machine",
                     algorithm);
    }
  };
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  check(context != nullptr && EVP_DigestInit_ex(context.get(), digest, nullptr) == 1);
  std::vector<std::byte> block(static_cast<size_t>(std::min(kHashBlockBytes, num_bytes)));
  for (int64_t offset = 0; offset < num_bytes; offset += kHashBlockBytes) {
    const auto part =
        std::span(block).first(static_cast<size_t>(std::min(kHashBlockBytes, num_bytes - offset)));
    read(offset, part);
    check(EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned int length = 0;
  check(EVP_DigestFinal_ex(context.get(), value.data(), &length) == 1);
  std::string digits;
  for (unsigned int i = 0; i < length; ++i) digits += fmt::format("{:02x}", value[i]);
  return digits;
}

}  // namespace ffkit
