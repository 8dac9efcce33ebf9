// The dct code of a JPEG: the same quantised coefficients in a code that is read several times as
// fast as Huffman codes, and all other bytes of the file. format/DCT.md specifies it.
//
// Nothing is lost: pixels decoded from it (ImageDecoder does that, as for a JPEG) are those of the
// JPEG, whole, scaled or in part, and the file can be made again to the byte. It takes about 15 %
// more bytes.
//
//   JPEG file  --encode_dct_picture()-->  dct code  --decode_dct_to_jpeg()-->  the same JPEG file
//                      |                      |
//                      v                      v
//          or a DctRefusal: keep the JPEG   ImageDecoder: pixels
//
// Where memory runs out, all of these throw Error(io).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ffkit {

// Whether `image` begins as the dct code does, of whatever version. detect_image_encoding() says
// ImageEncoding::dct of it.
bool is_dct_picture(std::span<const std::byte> image);

// Why a picture has no dct code and stays as it is.
enum class DctRefusal : uint8_t {
  not_jpeg,     // PNG, WebP, ...; also what is in the dct code already
  progressive,  // several scans that refine each other (SOF2)
  arithmetic,
  lossless,         // lossless or hierarchical: SOF3, SOF5 to SOF7, SOF11 and above
  precision,        // not 8 bits a sample
  components,       // neither 1 nor 3 of them: CMYK, YCCK
  several_scans,    // the components are not all in the first scan
  restart_markers,  // a restart interval is set
  // there are none in the file, which is decoded with the usual ones: a picture of an MJPEG film
  no_tables,
  // bytes between its segments that belong to none, or a sequential scan that claims to have only
  // some coefficients; decoders pass over it
  irregular_header,
  unused_bytes,  // the scan goes on behind the last pixel
  // the header or the scan is broken or cut, no end of image follows the scan, or a coefficient is
  // out of all bounds
  damaged,
  // the JPEG made from it would have other bytes; for instance, its encoder did not write the
  // shortest codes for runs of zeros
  not_exact,
  too_large  // its dct code would take 4 GiB or more
};

// A few words that follow "is ": "progressive", "damaged or cut", ... They are the same in all
// releases.
std::string_view to_string(DctRefusal refusal);

// Replaces the content of `out` by the dct code of `jpeg`, a whole file, and proves that the file
// comes back from it to the byte: it reads the code again and compares all coefficients, and sees
// while it reads the file that its Huffman codes are those that decode_to_jpeg() writes. Where it
// cannot see that, it makes the file and compares the bytes. Returns nothing when this went well,
// or the reason why there is no code for this picture; then `out` is empty. Bad input is no error,
// whatever its bytes.
std::optional<DctRefusal> encode_dct_picture(std::span<const std::byte> jpeg,
                                             std::vector<std::byte>& out);

// The JPEG file of a dct code, to the byte. Throws Error(corrupt) for broken bytes,
// Error(unsupported) for a version that this release does not know.
std::vector<std::byte> decode_dct_to_jpeg(std::span<const std::byte> dct);

// Both for one picture after another: keeps memory and tables between them. Not thread-safe: one
// per thread.
class DctTranscoder {
 public:
  DctTranscoder();
  ~DctTranscoder();
  DctTranscoder(DctTranscoder&&) noexcept;
  DctTranscoder& operator=(DctTranscoder&&) noexcept;

  // encode_dct_picture().
  std::optional<DctRefusal> encode(std::span<const std::byte> jpeg, std::vector<std::byte>& out);

  // decode_dct_to_jpeg(); replaces the content of `out`.
  void decode_to_jpeg(std::span<const std::byte> dct, std::vector<std::byte>& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
