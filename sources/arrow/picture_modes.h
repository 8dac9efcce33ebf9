// Modes of Pillow's, in which Hugging Face's Image(mode=) gives the pictures of a column.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <ffkit/converter/source.h>

namespace ffkit {

// What becomes of pictures of a column of this mode; empty: nothing.
std::string note_of_mode(const std::string& column, const std::string& mode);

// `image`, or for "L" a PNG of its grey values as Pillow's convert("L") gives them, upright as the
// data set gives it, which lives in `buffers`; a picture of one channel stays. Throws Error for a
// picture that cannot be decoded, unless it is to be kept.
std::span<const std::byte> in_mode(const std::string& mode, std::span<const std::byte> image,
                                   SampleBuffers& buffers);

}  // namespace ffkit
