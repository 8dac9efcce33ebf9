// Samples of pictures: what every source of labelled pictures does with the bytes of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <ffkit/converter/image_storage.h>
#include <ffkit/format/record.h>

namespace ffkit {

inline constexpr int64_t kMaxImageFileBytes = 1LL << 30;

// True for the endings that torchvision's ImageFolder takes for pictures, in any case: .jpg .jpeg
// .png .ppm .bmp .pgm .tif .tiff .webp. Names that begin with a dot (.DS_Store, ._x.jpg) do not
// count.
bool has_image_name(const std::filesystem::path& file);

// Throws Error(unsupported) for a file that is too large to be one picture.
void require_image_size(int64_t num_bytes, const std::string& origin);

// Sets the fields of image_classification_schema() to what `storer` makes of `image`. `image` and
// `id` must live until the record is encoded, and `buffers` not be cleared. Throws Error naming
// `origin` for a picture that cannot be read.
void set_image_sample(RecordBuilder& record, std::span<const std::byte> image, int64_t label,
                      std::string_view id, const std::string& origin, const ImageStorer& storer,
                      SampleBuffers& buffers);

}  // namespace ffkit
