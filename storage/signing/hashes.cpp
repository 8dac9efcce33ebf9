#include "signing/hashes.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/make_error.h"

namespace ffkit {
namespace {

std::string digest_of(const EVP_MD* kind, const void* data, size_t num_bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (EVP_Digest(data, num_bytes, digest.data(), &size, kind, nullptr) != 1) {
    throw Error(ErrorCode::unsupported, "OpenSSL has no digest of the kind that requests need");
  }
  return {reinterpret_cast<const char*>(digest.data()), size};
}

}  // namespace

std::string sha256(std::string_view text) {
  return digest_of(EVP_sha256(), text.data(), text.size());
}

std::string sha256(std::span<const std::byte> bytes) {
  return digest_of(EVP_sha256(), bytes.data(), bytes.size());
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
           &size) == nullptr) {
    throw Error(ErrorCode::unsupported, "OpenSSL cannot compute an HMAC");
  }
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string sha1_hex(std::string_view text) {
  return hex(digest_of(EVP_sha1(), text.data(), text.size()));
}

std::string rs256(const std::string& pem, std::string_view text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> file(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      // An encrypted key is refused: OpenSSL would ask for its password on the terminal.
      PEM_read_bio_PrivateKey(
          file.get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr),
      &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (key == nullptr || context == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    throw Error(ErrorCode::invalid_argument, "the private key is no RSA key in PEM");
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) != 1) {
    throw Error(ErrorCode::invalid_argument, "the private key does not sign");
  }
  signature.resize(size);
  return signature;
}

std::string hex(std::string_view bytes) {
  std::string result;
  result.reserve(2 * bytes.size());
  for (const char c : bytes) result += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return result;
}

std::string base64_url(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string result;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    const size_t num_letters = bytes.size() - i >= 3 ? 4 : bytes.size() - i + 1;
    for (size_t k = 0; k < num_letters; ++k) result += kLetters[bits >> (18 - 6 * k) & 63];
  }
  return result;
}

}  // namespace ffkit
