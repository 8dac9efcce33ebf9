// ImageStorage: how pictures of a source are stored in records. By default they are stored
// unchanged.
//
//   file ─▶ check ─▶ too large? resize ─▶ as JPEG or raw pixels ─▶ JPEG in the dct code ─▶ record
//             │      (untouched pictures keep their bytes)         (if asked for)
//             broken: an error, or kept as it is
//
// A picture within the limits keeps its bytes, unless it is odd or shall be raw. The dct code
// (ffkit/image/dct_picture.h) is lossless: the JPEG can be restored from it, byte by byte.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/converter/source.h>

namespace ffkit {

enum class StoreAs : uint8_t {
  jpeg,  // as it came, or as a JPEG where it was made smaller or was odd
  // as jpeg, then in the dct code; a picture without one is stored as with jpeg, and reported
  dct,
  // every picture as pixels (a binary PPM): much larger; decoding is a copy of memory
  raw,
  smart,  // raw_share of the pictures as raw, the others as jpeg
};
template <>
inline constexpr auto kNames<StoreAs> = enum_names<StoreAs>("store", {{StoreAs::jpeg, "jpeg"},
                                                                      {StoreAs::dct, "dct"},
                                                                      {StoreAs::raw, "raw"},
                                                                      {StoreAs::smart, "smart"}});

enum class ImageCheck : uint8_t {
  header,  // size and kind can be read
  decode,  // all of its pixels can: finds truncated files
};
template <>
inline constexpr auto kNames<ImageCheck> = enum_names<ImageCheck>("check of pictures",
                                                                  {{ImageCheck::header, "header"},
                                                                   {ImageCheck::decode, "decode"}});

enum class ExifUse : uint8_t {
  ignore,  // pixels as they are in the file, as torchvision takes them
  // if EXIF data rotate or mirror a picture, it is stored upright, encoded again without them
  apply,
};
template <>
inline constexpr auto kNames<ExifUse> = enum_names<ExifUse>("exif", {{ExifUse::ignore, "ignore"},
                                                                     {ExifUse::apply, "apply"}});

struct ImageStorage {
  // Pictures with a longer side above this are resized to it; 1 .. 65500, 0: off.
  int max_resolution = 0;
  // Pictures with a shorter side above this are resized to it; 1 .. 65500, 0: off. Not together
  // with max_resolution.
  int short_side = 0;
  int jpeg_quality = 90;  // of what is re-encoded, 1 .. 100 as in libjpeg; 4:2:0
  StoreAs store = StoreAs::jpeg;
  // For StoreAs::smart: the probability that a picture is stored raw, 0 .. 1. The draw depends on
  // SampleBuffers::seed() and the id of the sample.
  double raw_share = 0.5;
  // Everything except 8-bit JPEGs of one or three components (CMYK JPEGs, PNG, WebP, BMP, ...)
  // becomes an RGB JPEG; each is reported.
  bool fix_odd = false;
  // Applied before a picture is resized; each that is turned is reported.
  ExifUse exif = ExifUse::ignore;
  ImageCheck check = ImageCheck::header;
};

// What report.jsonl says was done to a picture that has no dct code.
inline constexpr const char* kKeptWithoutDct = "kept without the dct code";

// A remark in report.jsonl on a picture that may lose something; the summary counts them.
struct PictureRemark {
  const char* reason;
  const char* action;
};
inline constexpr PictureRemark kKept16Bits = {
    "has 16 bits per channel",
    "kept; batches of u8 have the high bytes, and augmentations refuse it"};
inline constexpr PictureRemark kLost16Bits = {"has 16 bits per channel",
                                              "stored with 8 bits: the high bytes"};
inline constexpr PictureRemark kKeptAnimation = {"is an animation",
                                                 "kept; batches have its first picture"};
inline constexpr PictureRemark kFirstOfAnimation = {"is an animation",
                                                    "its first picture is stored"};
inline constexpr std::array kPictureRemarks = {kKept16Bits, kLost16Bits, kKeptAnimation,
                                               kFirstOfAnimation};

// For sources that do not change pictures: jpeg, or dct; throws Error(invalid_argument) for others.
ImageStorage as_they_are(StoreAs store, ExifUse exif = ExifUse::ignore);
// The options of ImageStorage that a source supports.
enum class PictureUse : uint8_t {
  none,
  store,  // `store` alone, jpeg or dct: pictures stay as they are otherwise
  all,
};
// Declares the options of `storage`, which must outlive `table`. `takes_exif`: nothing in the
// records uses pixel coordinates.
void describe(ImageStorage& storage, PictureUse use, bool takes_exif, OptionTable& table);
// Throws Error(invalid_argument) that names the first value out of range or in conflict with
// another.
void validate(const ImageStorage& storage);
// As validate(), and refuses an option that is given and changes nothing.
void validate(const ImageStorage& storage, const OptionTable& table);
// For the manifest's options: differences from unchanged pictures; empty by default.
std::map<std::string, std::string> manifest_options(const ImageStorage& storage);

struct PixelSize {
  int width = 0;
  int height = 0;
  bool operator==(const PixelSize&) const = default;
};
// The stored size of a picture of `size`. The other side is rounded down, to at least 1, like
// torchvision's Resize and FFCV's max_resolution: with short_side 256, a picture is the result of
// torchvision's Resize(256).
PixelSize stored_size(const ImageStorage& storage, PixelSize size);

// Applies an ImageStorage to pictures. Thread-safe: keeps a decoder, a resizer and an encoder for
// each thread.
class ImageStorer {
 public:
  // Throws as validate().
  explicit ImageStorer(const ImageStorage& storage = {});
  ~ImageStorer();

  struct Stored {
    std::span<const std::byte> bytes;  // the picture's own, or in the buffers
    PixelSize original;  // upright, if it was turned; 0 x 0 for a broken picture that is kept
    PixelSize size;      // as stored: pixel coordinates scale by size / original
  };
  // The bytes to store for `image`, an encoded picture that must outlive the result. `id` of the
  // sample is for the draw. Reports to `buffers` how a broken or odd picture, or one without a dct
  // code, was treated; `picture` is its name if the sample has several. Throws Error(corrupt or
  // unsupported), without the file's name, if the picture cannot be read.
  Stored store(std::span<const std::byte> image, std::string_view id, SampleBuffers& buffers,
               std::string_view picture = {}) const;

  const ImageStorage& storage() const;
  // Whether a damaged picture may be stored without notice, because unchanged pictures are not
  // decoded.
  bool checks_headers_only() const;
  // Rough upper limit of memory for a picture from a file of `file_bytes`; raw pixels are larger
  // than the file.
  int64_t memory_bytes(int64_t file_bytes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
