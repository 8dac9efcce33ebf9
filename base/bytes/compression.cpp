#include <fmt/format.h>
#include <zdict.h>
#include <zstd.h>

#include <ffkit/base/compression.h>
#include <ffkit/base/crc32c.h>
#include <ffkit/base/error.h>

#include "make_error.h"

namespace ffkit {
namespace {

constexpr int kMinLevel = -7;
constexpr int64_t kMinDictionaryBytes = 256;

// Compressed bytes must be fewer than this share of the record's.
constexpr bool is_worth_it(size_t compressed, size_t raw) {
  return compressed < raw - raw / 16;
}

}  // namespace

struct RecordCompressor::Impl {
  int level = 0;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(), ZSTD_freeCCtx};
  std::unique_ptr<ZSTD_CDict, decltype(&ZSTD_freeCDict)> dictionary{nullptr, ZSTD_freeCDict};
  std::vector<std::byte> buffer;
};

RecordCompressor::RecordCompressor(const CompressionOptions& options)
    : impl_(errors_only("", [] { return std::make_unique<Impl>(); })) {
  if (impl_->context == nullptr) {
    throw Error(ErrorCode::io, "there is not enough memory for a zstd compressor");
  }
  if (options.level < kMinLevel || options.level > ZSTD_maxCLevel()) {
    refuse_argument(fmt::format("the zstd level is {}; expected {} to {} (0 means no compression)",
                                options.level, kMinLevel, ZSTD_maxCLevel()));
  }
  impl_->level = options.level;
  if (options.dictionary.empty()) return;
  if (options.dictionary.size() > static_cast<size_t>(kMaxDictionaryBytes) ||
      ZSTD_getDictID_fromDict(options.dictionary.data(), options.dictionary.size()) == 0) {
    refuse_argument(fmt::format("the given {} bytes are not a zstd dictionary of at most {} bytes",
                                options.dictionary.size(), kMaxDictionaryBytes));
  }
  impl_->dictionary.reset(
      ZSTD_createCDict(options.dictionary.data(), options.dictionary.size(), options.level));
  if (impl_->dictionary == nullptr) refuse_argument("the zstd dictionary is damaged");
}

RecordCompressor::~RecordCompressor() = default;
RecordCompressor::RecordCompressor(RecordCompressor&&) noexcept = default;
RecordCompressor& RecordCompressor::operator=(RecordCompressor&&) noexcept = default;

StoredRecord RecordCompressor::compress(std::span<const std::byte> record) {
  if (impl_->level != 0 && record.size() <= static_cast<size_t>(kMaxCompressedBytes)) {
    errors_only("", [&] { impl_->buffer.resize(ZSTD_compressBound(record.size())); });
    const size_t size =
        impl_->dictionary != nullptr
            ? ZSTD_compress_usingCDict(impl_->context.get(), impl_->buffer.data(),
                                       impl_->buffer.size(), record.data(), record.size(),
                                       impl_->dictionary.get())
            : ZSTD_compressCCtx(impl_->context.get(), impl_->buffer.data(), impl_->buffer.size(),
                                record.data(), record.size(), impl_->level);
    // Running out of memory is the one error there can be; the record is stored as it is then.
    if (ZSTD_isError(size) == 0 && is_worth_it(size, record.size())) {
      const auto bytes = std::span<const std::byte>(impl_->buffer).first(size);
      return {.bytes = bytes,
              .crc32c = crc32c(bytes),
              .codec = impl_->dictionary != nullptr ? Codec::zstd_dictionary : Codec::zstd};
    }
  }
  return {.bytes = record, .crc32c = crc32c(record), .codec = Codec::none};
}

std::vector<std::byte> train_dictionary(std::span<const std::vector<std::byte>> samples,
                                        int64_t max_bytes) {
  if (max_bytes < kMinDictionaryBytes || max_bytes > kMaxDictionaryBytes) {
    refuse_argument(fmt::format("a zstd dictionary cannot have {} bytes; expected {} to {} bytes",
                                max_bytes, kMinDictionaryBytes, kMaxDictionaryBytes));
  }
  std::vector<std::byte> joined;
  std::vector<size_t> sizes;
  errors_only("", [&] {
    for (const auto& sample : samples) {
      joined.insert(joined.end(), sample.begin(), sample.end());
      sizes.push_back(sample.size());
    }
  });
  std::vector<std::byte> dictionary(static_cast<size_t>(max_bytes));
  const size_t size = ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), joined.data(),
                                            sizes.data(), static_cast<unsigned>(sizes.size()));
  if (ZDICT_isError(size) != 0) {
    refuse_argument(
        fmt::format("cannot train a zstd dictionary of {} bytes on {} records with {} bytes in "
                    "total ({}); use more records, a smaller dictionary or no dictionary",
                    max_bytes, samples.size(), joined.size(), ZDICT_getErrorName(size)));
  }
  dictionary.resize(size);
  return dictionary;
}

}  // namespace ffkit
