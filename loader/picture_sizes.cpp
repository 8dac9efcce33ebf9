#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include <ffkit/format/record.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/loader/picture_sizes.h>

#include "base/make_error.h"
#include "fields/decoder_base.h"

namespace ffkit {
namespace {

// The failure of the first record that has one.
struct FirstFailure {
  void add(int64_t at, std::exception_ptr what) {
    const std::lock_guard lock(mutex);
    if (at >= record) return;
    record = at;
    error = std::move(what);
  }

  std::mutex mutex;
  std::atomic<int64_t> record = INT64_MAX;
  std::exception_ptr error;
};

ImageInfo read_info_of(const Dataset& dataset, int64_t index, size_t field,
                       std::vector<std::byte>& bytes) {
  dataset.read(index, bytes);
  const RecordName name = dataset.name(index);
  const RecordView record(dataset.schema(), bytes, name);
  const std::span<const std::byte> picture = record.bytes(field);
  try {
    return read_image_info(picture);
  } catch (const Error& error) {
    throw error.within(
        {.path = name.file == nullptr ? dataset.path().string() : name.file->string(),
         .record = name.record});
  }
}

}  // namespace

PictureSizes picture_sizes(const Dataset& dataset, const std::string& field) {
  const size_t at = require_image(dataset.schema(), field);
  return errors_only({}, [&] {
    const int64_t num_records = dataset.num_records();
    PictureSizes sizes;
    sizes.widths.resize(static_cast<size_t>(num_records));
    sizes.heights.resize(static_cast<size_t>(num_records));
    FirstFailure failure;
    constexpr int64_t kBlock = 64;
    tbb::parallel_for(int64_t{0}, (num_records + kBlock - 1) / kBlock, [&](int64_t block) {
      std::vector<std::byte> bytes;
      const int64_t end = std::min(num_records, (block + 1) * kBlock);
      for (int64_t i = block * kBlock; i < end && i < failure.record; ++i) {
        try {
          const ImageInfo info = read_info_of(dataset, i, at, bytes);
          sizes.widths[static_cast<size_t>(i)] = info.width;
          sizes.heights[static_cast<size_t>(i)] = info.height;
        } catch (...) {
          failure.add(i, std::current_exception());
        }
      }
    });
    if (failure.error != nullptr) std::rethrow_exception(failure.error);
    return sizes;
  });
}

}  // namespace ffkit
