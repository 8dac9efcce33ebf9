#include "pictures/image_sample.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/errors_only.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

// image_classification_schema()
constexpr size_t kImageField = 0;
constexpr size_t kLabelField = 1;
constexpr size_t kIdField = 2;

}  // namespace

bool has_image_name(const std::filesystem::path& file) {
  constexpr std::array<std::string_view, 9> kEndings = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                                        ".pgm", ".tif",  ".tiff", ".webp"};
  if (file.filename().string().starts_with('.')) return false;
  std::string ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

void require_image_size(int64_t num_bytes, const std::string& origin) {
  if (num_bytes > kMaxImageFileBytes) {
    throw error_at(origin, ErrorCode::unsupported, "has {} bytes; a picture may have {} at most",
                   num_bytes, kMaxImageFileBytes);
  }
}

void set_image_sample(RecordBuilder& record, std::span<const std::byte> image, int64_t label,
                      std::string_view id, const std::string& origin, const ImageStorer& storer,
                      SampleBuffers& buffers) {
  ImageStorer::Stored stored;
  try {
    stored = storer.store(image, id, buffers);
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;
    throw error.within({.path = origin});
  }
  record.set_bytes(kImageField, stored.bytes);
  record.set_scalar<int64_t>(kLabelField, label);
  record.set_string(kIdField, id);
}

}  // namespace ffkit
