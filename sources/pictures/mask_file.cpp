#include "pictures/mask_file.h"

#include <ffkit/base/option_names.h>
#include <ffkit/image/image_codec.h>

#include "base/errors_only.h"
#include "base/make_error.h"
#include "converter/input/dangling_link.h"
#include "image/codec/mask_decoder.h"
#include "pictures/image_sample.h"
#include "pictures/image_source.h"

namespace ffkit {
namespace {

void require_mask_of(const ImageInfo& info, MaskNumbers numbers, PixelSize size,
                     const std::string& picture) {
  require_mask(info, numbers);
  if (numbers == MaskNumbers::panoptic && info.num_components != 3) {
    throw Error(ErrorCode::unsupported,
                "the panoptic mask has one channel, not the colours that its numbers are made of");
  }
  if (size == PixelSize{} || size == PixelSize{info.width, info.height}) return;
  throw error_of(ErrorCode::unsupported,
                 "the mask has {} x {} pixels, but its picture '{}' has {} x {}", info.width,
                 info.height, picture, size.width, size.height)
      .with_remedy("make both alike, or leave such pairs out with " +
                   option_set("on_error", "skip"));
}

}  // namespace

std::span<const std::byte> read_listed_file(const std::filesystem::path& path,
                                            const FileStamp& listed, SampleBuffers& buffers) {
  if (listed.modified_ns == ImageEntry::kDanglingLink) {
    const std::string fault = dangling_link(path);
    // Not not_found: the sample is bad, and the source is what it was when it was listed.
    throw error_at(path, ErrorCode::unsupported,
                   fault.empty() ? "was a link to nothing when it was listed; start again" : fault);
  }
  const InputFile file(path, listed);
  require_image_size(file.size(), path.string());
  const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(file.size()));
  file.read_at(0, bytes);
  return bytes;
}

std::span<const std::byte> read_mask_file(const std::filesystem::path& path,
                                          const FileStamp& listed, MaskNumbers numbers,
                                          PixelSize size, const std::string& picture,
                                          const std::string& field, SampleBuffers& buffers) {
  const std::span<const std::byte> mask = read_listed_file(path, listed, buffers);
  try {
    require_mask_of(read_image_info(mask), numbers, size, picture);
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;
    if (buffers.on_error() != OnError::keep) throw error.within({.path = path.string()});
    buffers.report({error.what(), kKeptAsItIs, field});
  }
  return mask;
}

}  // namespace ffkit
