// What a file is by its first bytes, whatever its name says. For sources that decide by it, and for
// messages about files that are something else than was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ffkit {

enum class ContentKind : uint8_t {
  unknown,  // nothing below; plain text without a byte order mark is unknown too
  empty,
  // Pictures.
  jpeg,
  png,
  png_through_text,  // its signature went through a transfer as text, which changed line ends
  jpeg_through_text,
  webp,
  bmp,
  pnm,  // PGM, PPM, ... P1 to P7
  gif,
  tiff,
  avif,
  heic,
  jpeg_2000,
  jpeg_xl,
  icon,
  photoshop,
  svg,
  open_exr,
  radiance_hdr,
  camera_raw,
  dicom,
  apple_double,  // what macOS keeps beside a file on other disks: "._" and its name
  // Compressed data and archives.
  gzip,
  zstd,
  bzip2,
  xz,
  lz4,
  zip,
  seven_zip,
  rar,
  tar,
  // Data.
  parquet,
  arrow,
  hdf5,
  numpy,
  sqlite,
  pickle,
  record_shard,  // ffkit's own
  onnx,
  gguf,
  tflite,
  elf,
  pdf,
  video,
  audio,
  // Text that stands for something else.
  html,
  xml,
  git_lfs_pointer,
  utf8_with_bom,
  utf16,
  utf32,
};

// Bytes that content_kind() looks at.
inline constexpr size_t kContentHeadBytes = 512;

// The kind of a file that begins with `head`, of which kContentHeadBytes are enough. What
// other programs write before the signature (white space, a byte order mark) is passed over for
// HTML and XML. Never throws.
ContentKind content_kind(std::span<const std::byte> head) noexcept;

// With its article, for a message: "gzip data", "an AVIF picture", "an HTML page". "data of an
// unknown kind" for unknown, "an empty file" for empty.
const char* content_name(ContentKind kind) noexcept;

// What somebody who wanted a picture (or a text) can do about it, as a clause without a full stop:
// "download the file itself with git lfs pull". Empty where there is nothing but another file.
const char* content_remedy(ContentKind kind) noexcept;

// Whether it is a picture, of a form that is decoded (JPEG, PNG, WebP, BMP, PNM) or of another one.
constexpr bool is_picture(ContentKind kind) noexcept {
  return kind >= ContentKind::jpeg && kind < ContentKind::apple_double;
}
inline bool begins_as_picture(std::span<const std::byte> bytes) noexcept {
  return is_picture(content_kind(bytes));
}
constexpr bool is_decoded_picture(ContentKind kind) noexcept {
  return kind == ContentKind::jpeg || kind == ContentKind::png || kind == ContentKind::webp ||
         kind == ContentKind::bmp || kind == ContentKind::pnm;
}

// Whether there are bytes and all are 0, as a crash or a copy that was cut leaves files.
constexpr bool is_all_zeros(std::span<const std::byte> bytes) noexcept {
  for (const std::byte byte : bytes) {
    if (byte != std::byte{0}) return false;
  }
  return !bytes.empty();
}

// gzip, zstd, bzip2, xz or lz4: one stream of other data.
bool is_compressed_stream(ContentKind kind) noexcept;

}  // namespace ffkit
