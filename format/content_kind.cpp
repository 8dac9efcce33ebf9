#include "content_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/printable.h"

namespace ffkit {
namespace {

using namespace std::string_view_literals;

struct Signature {
  size_t offset;
  std::string_view bytes;
  ContentKind kind;
};

// Longer ones before those that they begin with.
constexpr std::array kSignatures = {
    Signature{0, "\xFF\xD8\xFF"sv, ContentKind::jpeg},
    Signature{0, "\x89PNG\r\n\x1A\n"sv, ContentKind::png},
    Signature{0, "\x89PNG"sv, ContentKind::png_through_text},
    // The eighth bit lost, U+FFFD for the first byte, or its UTF-8.
    Signature{0, "\x09PNG"sv, ContentKind::png_through_text},
    Signature{0, "\xEF\xBF\xBDPNG"sv, ContentKind::png_through_text},
    Signature{0, "\xC2\x89PNG"sv, ContentKind::png_through_text},
    // FF D8 FF as three U+FFFD, or as the UTF-8 of these three characters of Latin-1.
    Signature{0, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"sv, ContentKind::jpeg_through_text},
    Signature{0, "\xC3\xBF\xC3\x98\xC3\xBF"sv, ContentKind::jpeg_through_text},
    Signature{8, "WEBP"sv, ContentKind::webp},
    Signature{0, "GIF87a"sv, ContentKind::gif},
    Signature{0, "GIF89a"sv, ContentKind::gif},
    Signature{0, "II*\0"sv, ContentKind::tiff},
    Signature{0, "MM\0*"sv, ContentKind::tiff},
    Signature{0, "II+\0"sv, ContentKind::tiff},
    Signature{0, "MM\0+"sv, ContentKind::tiff},
    Signature{0, "\0\0\0\x0CjP  \r\n\x87\n"sv, ContentKind::jpeg_2000},
    Signature{0, "\xFF\x4F\xFF\x51"sv, ContentKind::jpeg_2000},
    Signature{0, "\0\0\0\x0CJXL \r\n\x87\n"sv, ContentKind::jpeg_xl},
    Signature{0, "\xFF\x0A"sv, ContentKind::jpeg_xl},
    Signature{0, "\0\0\1\0"sv, ContentKind::icon},
    Signature{0, "8BPS"sv, ContentKind::photoshop},
    Signature{0, "\x76\x2F\x31\x01"sv, ContentKind::open_exr},
    Signature{0, "#?RADIANCE"sv, ContentKind::radiance_hdr},
    Signature{128, "DICM"sv, ContentKind::dicom},
    Signature{0, "\0\5\x16\7"sv, ContentKind::apple_double},
    Signature{0, "\x1F\x8B"sv, ContentKind::gzip},
    Signature{0, "\x28\xB5\x2F\xFD"sv, ContentKind::zstd},
    Signature{0, "\x50\x2A\x4D\x18"sv,
              ContentKind::zstd},  // a skippable frame, as pzstd writes it first
    Signature{0, "\xFD\x37zXZ\0"sv, ContentKind::xz},
    Signature{0, "\x04\x22\x4D\x18"sv, ContentKind::lz4},
    Signature{0, "PK\x03\x04"sv, ContentKind::zip},
    Signature{0, "PK\x05\x06"sv, ContentKind::zip},
    Signature{0, "7z\xBC\xAF\x27\x1C"sv, ContentKind::seven_zip},
    Signature{0, "Rar!\x1A\x07"sv, ContentKind::rar},
    Signature{257, "ustar"sv, ContentKind::tar},
    Signature{0, "PAR1"sv, ContentKind::parquet},
    Signature{0, "PARE"sv, ContentKind::parquet},
    Signature{0, "ARROW1\0\0"sv, ContentKind::arrow},
    Signature{0, "\x89HDF\r\n\x1A\n"sv, ContentKind::hdf5},
    Signature{0, "\x93NUMPY"sv, ContentKind::numpy},
    Signature{0, "SQLite format 3\0"sv, ContentKind::sqlite},
    Signature{0, "\x80\x02"sv, ContentKind::pickle},
    Signature{0, "\x80\x03"sv, ContentKind::pickle},
    Signature{0, "\x80\x04\x95"sv, ContentKind::pickle},
    Signature{0, "\x80\x05\x95"sv, ContentKind::pickle},
    Signature{0,
              "\x93"
              "FFR2\r\n\x1A"sv,
              ContentKind::record_shard},  // FORMAT.md
    Signature{0, "GGUF"sv, ContentKind::gguf},
    Signature{4, "TFL3"sv, ContentKind::tflite},
    Signature{0, "\x7F\x45LF"sv, ContentKind::elf},
    Signature{0, "%PDF-"sv, ContentKind::pdf},
    Signature{0, "version https://git-lfs.github.com/spec/"sv, ContentKind::git_lfs_pointer},
    Signature{0, "\x1A\x45\xDF\xA3"sv, ContentKind::video},  // Matroska, WebM
    Signature{8, "AVI "sv, ContentKind::video},
    Signature{8, "WAVE"sv, ContentKind::audio},
    Signature{0, "ID3"sv, ContentKind::audio},
    Signature{0, "fLaC"sv, ContentKind::audio},
    Signature{0, "OggS"sv, ContentKind::audio},
    Signature{0, "\xFF\xFE\0\0"sv, ContentKind::utf32},
    Signature{0, "\0\0\xFE\xFF"sv, ContentKind::utf32},
    Signature{0, "\xFF\xFE"sv, ContentKind::utf16},
    Signature{0, "\xFE\xFF"sv, ContentKind::utf16},
};

// ISO base media files (AVIF, HEIC, MP4) say in the box "ftyp" what they are: ISO/IEC 14496-12,
// 4.3.
ContentKind kind_of_brand(std::string_view brand) {
  if (brand == "avif"sv || brand == "avis"sv) return ContentKind::avif;
  if (brand == "crx "sv) return ContentKind::camera_raw;
  for (const std::string_view known :
       {"heic"sv, "heix"sv, "hevc"sv, "hevx"sv, "heim"sv, "heis"sv, "mif1"sv, "msf1"sv}) {
    if (brand == known) return ContentKind::heic;
  }
  return ContentKind::video;
}

ContentKind kind_of_media(std::string_view text) {
  ContentKind kind = kind_of_brand(text.substr(8, 4));
  // "mif1" is any picture: the compatible brands, behind the minor version, tell AVIF.
  for (size_t at = 16; kind == ContentKind::heic && at + 4 <= std::min<size_t>(text.size(), 64);
       at += 4) {
    if (text.substr(at, 4) == "avif"sv) kind = ContentKind::avif;
  }
  return kind;
}

ContentKind kind_of_markup(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF"sv)) text.remove_prefix(3);
  const size_t begin = text.find_first_not_of(" \t\r\n\f");
  if (begin == std::string_view::npos) return ContentKind::unknown;
  text.remove_prefix(begin);
  if (begins_without_case(text, "<!doctype html"sv) || begins_without_case(text, "<html"sv) ||
      begins_without_case(text, "<head"sv) || begins_without_case(text, "<body"sv)) {
    return ContentKind::html;
  }
  if (begins_without_case(text, "<svg"sv) || begins_without_case(text, "<!doctype svg"sv))
    return ContentKind::svg;
  if (begins_without_case(text, "<?xml"sv)) {
    if (text.find("<svg"sv) != std::string_view::npos) return ContentKind::svg;
    return text.find("<html"sv) != std::string_view::npos ? ContentKind::html : ContentKind::xml;
  }
  return ContentKind::unknown;
}

// PGM, PPM and their kin: "P5" and white space or a comment.
bool is_pnm(std::string_view text) {
  return text.size() >= 3 && text[0] == 'P' && text[1] >= '1' && text[1] <= '7' &&
         (text[2] == ' ' || text[2] == '\n' || text[2] == '\t' || text[2] == '\r' ||
          text[2] == '#');
}

// BITMAPFILEHEADER and the size of a known header behind it: "BM" alone begins texts as well.
bool is_bmp(std::string_view text) {
  if (!text.starts_with("BM"sv) || text.size() < 18) return false;
  const std::string_view header_bytes = text.substr(14, 4);
  if (header_bytes.substr(1) != "\0\0\0"sv) return false;
  const auto n = static_cast<unsigned char>(header_bytes[0]);
  return n == 12 || n == 16 || n == 40 || n == 52 || n == 56 || n == 64 || n == 108 || n == 124;
}

// "BZh", the size of the blocks, and the mark of the first block or of the end: "BZh" alone begins
// texts as well.
bool is_bzip2(std::string_view text) {
  return text.size() >= 10 && text.starts_with("BZh"sv) && text[3] >= '1' && text[3] <= '9' &&
         (text.substr(4, 6) == "1AY&SY"sv || text.substr(4, 6) == "\x17rE8P\x90"sv);
}

// A ModelProto (onnx.proto): the version, and the name of the program that wrote it.
bool is_onnx(std::string_view text) {
  if (text.size() < 12 || text[0] != 8 || text[1] < 1 || text[1] > 64 || text[2] != 0x12)
    return false;
  const auto length = static_cast<unsigned char>(text[3]);
  return length >= 1 && length <= 64 && text[4] >= 'A' && text[4] <= 'z';
}

// Of every kind.
struct Description {
  ContentKind kind;
  const char* name;
  const char* remedy = "";
};

constexpr const char* kDownload = "download it again";
constexpr const char* kTransfer = "transfer it again as binary data";
constexpr const char* kSave =
    "save it as PNG or JPEG, for example with ImageMagick: magick mogrify -format png FILE";
constexpr const char* kSaveText = "save it as UTF-8";
constexpr const char* kDecompress = "decompress it";
constexpr const char* kUnpack = "unpack it";
constexpr std::array kDescriptions = {
    Description{ContentKind::unknown, "data of an unknown kind"},
    Description{ContentKind::empty, "an empty file", kDownload},
    Description{ContentKind::jpeg, "a JPEG"},
    Description{ContentKind::png, "a PNG"},
    Description{ContentKind::png_through_text,
                "a PNG that was transferred as text, which changed its bytes", kTransfer},
    Description{ContentKind::jpeg_through_text,
                "a JPEG that was transferred as text, which changed its bytes", kTransfer},
    Description{ContentKind::webp, "a WebP picture"},
    Description{ContentKind::bmp, "a BMP picture"},
    Description{ContentKind::pnm, "a PNM picture"},
    Description{ContentKind::gif, "a GIF", kSave},
    Description{ContentKind::tiff, "a TIFF", kSave},
    Description{ContentKind::avif, "an AVIF picture", kSave},
    Description{ContentKind::heic, "a HEIC picture", kSave},
    Description{ContentKind::jpeg_2000, "a JPEG 2000 picture", kSave},
    Description{ContentKind::jpeg_xl, "a JPEG XL picture", kSave},
    Description{ContentKind::icon, "an icon file (ICO)", kSave},
    Description{ContentKind::photoshop, "a Photoshop file", kSave},
    Description{ContentKind::svg, "an SVG drawing", kSave},
    Description{ContentKind::open_exr, "an OpenEXR picture", kSave},
    Description{ContentKind::radiance_hdr, "a Radiance HDR picture", kSave},
    Description{ContentKind::camera_raw, "a camera's raw picture (CR3)", kSave},
    Description{ContentKind::dicom, "a DICOM picture", kSave},
    Description{ContentKind::apple_double, "an AppleDouble file of macOS, which has no picture",
                "delete it: the picture is in the file without ._ before its name"},
    Description{ContentKind::gzip, "gzip data", kDecompress},
    Description{ContentKind::zstd, "zstd data", kDecompress},
    Description{ContentKind::bzip2, "bzip2 data", kDecompress},
    Description{ContentKind::xz, "xz data", kDecompress},
    Description{ContentKind::lz4, "lz4 data", kDecompress},
    Description{ContentKind::zip, "a ZIP archive", kUnpack},
    Description{ContentKind::seven_zip, "a 7-Zip archive", kUnpack},
    Description{ContentKind::rar, "a RAR archive", kUnpack},
    Description{ContentKind::tar, "a tar archive"},
    Description{ContentKind::parquet, "a parquet file"},
    Description{ContentKind::arrow, "an Arrow file"},
    Description{ContentKind::hdf5, "an HDF5 file"},
    Description{ContentKind::numpy, "a NumPy array"},
    Description{ContentKind::sqlite, "an SQLite database"},
    Description{ContentKind::pickle, "a Python pickle"},
    Description{ContentKind::record_shard, "a record shard of ffkit"},
    Description{ContentKind::onnx, "an ONNX model"},
    Description{ContentKind::gguf, "a GGUF model (llama.cpp)"},
    Description{ContentKind::tflite, "a TensorFlow Lite model"},
    Description{ContentKind::elf, "a program or a library (ELF)"},
    Description{ContentKind::pdf, "a PDF"},
    Description{ContentKind::video, "a video"},
    Description{ContentKind::audio, "a sound file"},
    Description{ContentKind::html, "an HTML page", kDownload},
    Description{ContentKind::xml, "an XML file"},
    Description{ContentKind::git_lfs_pointer, "a Git LFS pointer",
                "download the file itself with git lfs pull"},
    Description{ContentKind::utf8_with_bom, "UTF-8 text with a byte order mark"},
    Description{ContentKind::utf16, "UTF-16 text", kSaveText},
    Description{ContentKind::utf32, "UTF-32 text", kSaveText},
};

const Description& description_of(ContentKind kind) {
  return *std::ranges::find(kDescriptions, kind, &Description::kind);
}

}  // namespace

ContentKind content_kind(std::span<const std::byte> head) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(head.data()),
                              std::min(head.size(), kContentHeadBytes));
  if (text.empty()) return ContentKind::empty;
  for (const Signature& signature : kSignatures) {
    if (text.size() >= signature.offset + signature.bytes.size() &&
        text.substr(signature.offset, signature.bytes.size()) == signature.bytes) {
      // RIFF's forms: "WEBP" at byte 8 of a text means nothing.
      if (signature.offset == 8 && !text.starts_with("RIFF"sv)) continue;
      return signature.kind;
    }
  }
  if (text.size() >= 12 && text.substr(4, 4) == "ftyp"sv) return kind_of_media(text);
  if (is_bzip2(text)) return ContentKind::bzip2;
  if (is_bmp(text)) return ContentKind::bmp;
  if (is_onnx(text)) return ContentKind::onnx;
  if (is_pnm(text)) return ContentKind::pnm;
  if (const ContentKind markup = kind_of_markup(text); markup != ContentKind::unknown) {
    return markup;
  }
  if (text.starts_with("\xEF\xBB\xBF"sv)) return ContentKind::utf8_with_bom;
  return ContentKind::unknown;
}

const char* content_name(ContentKind kind) noexcept {
  return description_of(kind).name;
}

const char* content_remedy(ContentKind kind) noexcept {
  return description_of(kind).remedy;
}

bool is_compressed_stream(ContentKind kind) noexcept {
  return kind == ContentKind::gzip || kind == ContentKind::zstd || kind == ContentKind::bzip2 ||
         kind == ContentKind::xz || kind == ContentKind::lz4;
}

}  // namespace ffkit
