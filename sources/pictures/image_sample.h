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
#include <ffkit/image/mask.h>

#include "archives/tar_index.h"
#include "base/make_error.h"
#include "converter/input/input_file.h"
#include "format/content_kind.h"

namespace ffkit {

inline constexpr int64_t kMaxImageFileBytes = 1LL << 30;

// True for the endings that torchvision's ImageFolder takes for pictures, in any case: .jpg .jpeg
// .png .ppm .bmp .pgm .tif .tiff .webp. Names that begin with a dot (.DS_Store, ._x.jpg) do not
// count.
bool has_image_name(const std::filesystem::path& file);
// The same, and for .jfif: whether a picture of this name is read.
bool has_read_image_name(const std::filesystem::path& file);

// What a file that may be a picture is, by its first bytes. Files whose names end as pictures' that
// are decoded are not opened: kind `jpeg` stands for all of them. In a store, where each look is a
// request, the ending alone tells. ContentKind::unknown for what cannot be read, and for names that
// begin with a dot.
ContentKind picture_kind_of(const std::filesystem::path& file);
// The same of a member of an archive.
ContentKind picture_kind_of(const std::string& member, const InputFile& archive,
                            const FileRange& data);

// Throws Error(unsupported) for a file that is too large to be one picture.
void require_image_size(int64_t num_bytes, const std::string& origin);

// FORMAT.md: strings are UTF-8. Throws Error(unsupported) for the name of a file, of `origin`, that
// is none.
void require_utf8_name(const std::string& name, const std::string& origin);

// Calls `work` and returns what it returns; its errors are about the sample of `origin`.
template <typename Work>
auto of_sample(const std::string& origin, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;
    throw error.within({.path = origin});
  }
}

// Sets the fields of image_classification_schema() to what `storer` makes of `image`. `image` and
// `id` must live until the record is encoded, and `buffers` not be cleared. Throws Error naming
// `origin` for a picture that cannot be read.
void set_image_sample(RecordBuilder& record, std::span<const std::byte> image, int64_t label,
                      std::string_view id, const std::string& origin, const ImageStorer& storer,
                      SampleBuffers& buffers);

// Of a picture with annotations in its pixels, which `storer` keeps as it is: whether EXIF data
// turn or mirror it. Then `buffers` report it, since people draw on upright pictures.
bool report_turned(std::span<const std::byte> image, const ImageStorer& storer,
                   SampleBuffers& buffers);

// Files of samples that lie beside their pictures, such as masks: read as they were listed.

// The bytes of a file, which live until `buffers` are cleared. Throws Error(unsupported) for a link
// that led to nothing when it was listed (ImageEntry::kDanglingLink) and for a file that is too
// large, and what InputFile throws.
std::span<const std::byte> read_listed_file(const std::filesystem::path& path,
                                            const FileStamp& listed, SampleBuffers& buffers);

// The same for a mask of a picture of `size`; 0 x 0: not known. Its header alone is looked at:
// throws Error(unsupported) for what is no mask of these numbers, or of another size than
// `picture`, the picture's file, which EXIF data turn or not. With BadSamples::keep such a mask is
// reported as that of `field`, and returned.
std::span<const std::byte> read_mask_file(const std::filesystem::path& path,
                                          const FileStamp& listed, MaskNumbers numbers,
                                          PixelSize size, const std::string& picture,
                                          const std::string& field, SampleBuffers& buffers,
                                          bool is_turned = false);

// Whether a PNG is whole, without decoding its pixels, which of nuScenes' maps are hundreds of
// millions: what is wrong with its signature, the length of each chunk up to IEND, and the CRC of
// each; "" for nothing. Throws Error(io) when it cannot be read.
std::string problem_of_png(const std::filesystem::path& path);

}  // namespace ffkit
