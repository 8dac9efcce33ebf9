// Files of samples that lie beside their pictures, such as masks: read as they were listed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include <ffkit/converter/image_storage.h>
#include <ffkit/image/mask.h>

#include "converter/input/input_file.h"

namespace ffkit {

// The bytes of a file, which live until `buffers` are cleared. Throws Error(unsupported) for a link
// that led to nothing when it was listed (ImageEntry::kDanglingLink) and for a file that is too
// large, and what InputFile throws.
std::span<const std::byte> read_listed_file(const std::filesystem::path& path,
                                            const FileStamp& listed, SampleBuffers& buffers);

// The same for a mask of a picture of `size`; 0 x 0: not known. Its header alone is looked at:
// throws Error(unsupported) for what is no mask of these numbers, or of another size than
// `picture`, the picture's file. With OnError::keep such a mask is reported as that of `field`, and
// returned.
std::span<const std::byte> read_mask_file(const std::filesystem::path& path,
                                          const FileStamp& listed, MaskNumbers numbers,
                                          PixelSize size, const std::string& picture,
                                          const std::string& field, SampleBuffers& buffers);

}  // namespace ffkit
