// The dct code of a JPEG: its quantised coefficients in a code that is read several times as fast
// as Huffman codes, and all other bytes of the file. format/DCT.md specifies it.
//
// The code is lossless. ImageDecoder decodes it to the pixels of the JPEG, whole, scaled or in
// part, and the JPEG file can be restored byte by byte. The dct code takes about 15 % more bytes.
//
//   JPEG file  --encode_dct_picture()-->  dct code  --decode_dct_to_jpeg()-->  the same JPEG file
//                      |                      |
//                      v                      v
//          or a DctRefusal: keep the JPEG   ImageDecoder: pixels
//
// All functions throw Error(io) when memory runs out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>

namespace ffkit {

// Whether `image` begins like the dct code of any version. detect_image_encoding() then returns
// ImageEncoding::dct.
bool is_dct_picture(std::span<const std::byte> image);

// Why a picture has no dct code. It stays as it is.
enum class DctRefusal : uint8_t {
  not_jpeg,     // PNG, WebP, ..., or in the dct code already
  progressive,  // several scans that refine each other (SOF2)
  arithmetic,
  lossless,         // lossless or hierarchical: SOF3, SOF5 to SOF7, SOF11 and above
  precision,        // not 8 bits a sample
  components,       // neither 1 nor 3 of them: CMYK, YCCK
  several_scans,    // the first scan lacks components
  restart_markers,  // a restart interval is set
  // the file has no Huffman tables, like pictures in MJPEG films; decoders use the standard ones
  no_tables,
  // there are bytes between segments, or a sequential scan claims to have only some coefficients;
  // decoders ignore both
  irregular_header,
  unused_bytes,  // the scan has bytes behind the last pixel's
  // the header or the scan is broken or cut, the end of image is missing, or a coefficient is out
  // of bounds
  damaged,
  // the JPEG made from the code would have other bytes, for instance because its encoder did not
  // write the shortest codes for runs of zeros
  not_exact,
  too_large  // the dct code would take 4 GiB or more
};
template <>
inline constexpr auto kNames<DctRefusal> = enum_names<DctRefusal>(
    "dct refusal", {{DctRefusal::not_jpeg, "not a JPEG"},
                    {DctRefusal::progressive, "progressive"},
                    {DctRefusal::arithmetic, "arithmetic coded"},
                    {DctRefusal::lossless, "lossless or hierarchical"},
                    {DctRefusal::precision, "not of 8 bits"},
                    {DctRefusal::components, "neither grey nor of 3 components"},
                    {DctRefusal::several_scans, "in several scans"},
                    {DctRefusal::restart_markers, "with restart markers"},
                    {DctRefusal::no_tables, "without Huffman tables"},
                    {DctRefusal::irregular_header, "with an irregular header"},
                    {DctRefusal::unused_bytes, "with more bytes in its scan than its pixels need"},
                    {DctRefusal::damaged, "damaged or cut"},
                    {DctRefusal::not_exact, "not restorable byte for byte"},
                    {DctRefusal::too_large, "too large"}});

// Replaces the content of `out` by the dct code of `jpeg`, a whole file. Returns nothing, or the
// reason why this picture has no dct code; `out` is empty then. Bad input is not an error. The
// function checks that the file can be restored byte by byte: it reads the code again, compares all
// coefficients, and checks that decode_to_jpeg() writes the same Huffman codes. If this is not
// enough, it makes the file and compares the bytes.
std::optional<DctRefusal> encode_dct_picture(std::span<const std::byte> jpeg,
                                             std::vector<std::byte>& out);

// The JPEG file from which a dct code was made, byte for byte. Throws Error(corrupt) for broken
// bytes, Error(unsupported) for a version that this release does not know.
std::vector<std::byte> decode_dct_to_jpeg(std::span<const std::byte> dct);

// Both functions for one picture after another. It keeps memory and tables between pictures. Not
// thread-safe: one per thread.
class DctTranscoder {
 public:
  DctTranscoder();
  ~DctTranscoder();
  DctTranscoder(DctTranscoder&&) noexcept;
  DctTranscoder& operator=(DctTranscoder&&) noexcept;

  // As encode_dct_picture().
  std::optional<DctRefusal> encode(std::span<const std::byte> jpeg, std::vector<std::byte>& out);

  // As decode_dct_to_jpeg(). Replaces the content of `out`.
  void decode_to_jpeg(std::span<const std::byte> dct, std::vector<std::byte>& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
