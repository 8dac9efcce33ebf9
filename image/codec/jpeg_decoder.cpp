#include "codec/jpeg_decoder.h"

#include <algorithm>

#include <ffkit/image/dct_picture.h>

#include "base/make_error.h"
#include "codec/jpeg_check_picture.h"

namespace ffkit {
namespace {

// "Fancy" upsampling looks one chroma sample beyond a pixel, and libjpeg treats the borders of a
// cropped decode as borders of the image. So many more pixels are decoded on each side that nothing
// of this is seen within the wished region.
constexpr int kMargin = 4;

constexpr int kRowsPerCall = 16;

// Pixels as libjpeg gives them for JCS_CMYK to RGB, as Pillow's convert("RGB") does it. All
// four-component JPEGs are taken as inverted (Adobe's convention: 255 is no ink), as Pillow does.
void inverted_cmyk_to_rgb(const uint8_t* cmyk, uint8_t* rgb, int width) {
  for (int x = 0; x < width; ++x) {
    const int white = cmyk[4 * x + 3];
    int channels[3];
    for (int c = 0; c < 3; ++c) {
      // Pillow's cmyk2rgb: white - MULDIV255(ink, white), which divides by 255 with rounding.
      const int product = (255 - cmyk[4 * x + c]) * white + 128;
      channels[c] = white - (((product >> 8) + product) >> 8);
    }
    for (int c = 0; c < 3; ++c) rgb[3 * x + c] = static_cast<uint8_t>(channels[c]);
  }
}

}  // namespace

void JpegDecoder::Decompressor::keep_nothing() {
  alloc_small = mem->alloc_small;
  mem->alloc_small = [](j_common_ptr info, int, size_t num_bytes) {
    auto* self = static_cast<Decompressor*>(reinterpret_cast<j_decompress_ptr>(info));
    return self->alloc_small(info, JPOOL_IMAGE, num_bytes);
  };
}

void JpegDecoder::Decompressor::forget_tables() {
  std::ranges::fill(quant_tbl_ptrs, nullptr);
  std::ranges::fill(dc_huff_tbl_ptrs, nullptr);
  std::ranges::fill(ac_huff_tbl_ptrs, nullptr);
}

boolean JpegDecoder::fill_input_buffer(j_decompress_ptr info) {
  // libjpeg's own memory source invents an end marker here and the rest of the picture becomes
  // grey.
  ERREXIT(info, JERR_INPUT_EOF);
  return FALSE;
}

void JpegDecoder::skip_input_data(j_decompress_ptr info, long num_bytes) {
  if (num_bytes <= 0) return;
  jpeg_source_mgr& source = *info->src;
  if (static_cast<size_t>(num_bytes) > source.bytes_in_buffer) ERREXIT(info, JERR_INPUT_EOF);
  source.next_input_byte += num_bytes;
  source.bytes_in_buffer -= static_cast<size_t>(num_bytes);
}

JpegDecoder::JpegDecoder() {
  info_.err = errors_.base();
  errors_.guard(0, [this] { jpeg_create_decompress(&info_); });
  info_.keep_nothing();
  source_.init_source = init_source;
  source_.fill_input_buffer = fill_input_buffer;
  source_.skip_input_data = skip_input_data;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = init_source;
  info_.src = &source_;
}

JpegDecoder::~JpegDecoder() {
  jpeg_destroy_decompress(&info_);
}

ImageInfo JpegDecoder::begin(std::span<const std::byte> data) {
  data_ = data;
  is_dct_ = is_dct_picture(data);
  if (is_dct_) dct_file_.open(data);
  const int components = begin_jpeg(is_dct_ ? dct_file_.head() : data);
  return {is_dct_ ? ImageEncoding::dct : ImageEncoding::jpeg, static_cast<int>(info_.image_width),
          static_cast<int>(info_.image_height), components};
}

// Reads the header; returns the number of components.
int JpegDecoder::begin_jpeg(std::span<const std::byte> jpeg) {
  jpeg_abort_decompress(&info_);
  info_.forget_tables();
  jpeg_ = jpeg;
  source_.next_input_byte = reinterpret_cast<const JOCTET*>(jpeg.data());
  source_.bytes_in_buffer = jpeg.size();
  errors_.guard(jpeg.size(), [this] { jpeg_read_header(&info_, TRUE); });
  const int components = info_.num_components;
  if (components != 1 && components != 3 && components != 4) {
    throw error_of(ErrorCode::unsupported,
                   "the JPEG has {} components; expected 1 (grey), 3 (colour) or 4 (CMYK)",
                   components);
  }
  return components;
}

bool JpegDecoder::has_end() const {
  if (is_dct_) return true;
  // Within a scan FF stands only before 00 and before the markers of restarts. From the back:
  // nearly all files end with it, and what some programs write behind it is short.
  const JOCTET* const begin = source_.next_input_byte;
  const JOCTET* end = begin + source_.bytes_in_buffer;
  while (end - begin >= 2) {
    const auto* found = static_cast<const JOCTET*>(
        memrchr(begin + 1, JPEG_EOI, static_cast<size_t>(end - begin - 1)));
    if (found == nullptr) return false;
    if (found[-1] == 0xFF) return true;
    end = found;
  }
  return false;
}

JpegDecoder::Part JpegDecoder::read(const Rect& region, int denominator) {
  if (is_dct_) return read_dct(region, denominator);
  if (!uses_hooks()) return read(region, denominator, Entropy::libjpeg);
  const Part part = read(region, denominator, Entropy::own_huffman);
  if (!is_attached_ || !huffman_.failed()) return part;
  begin_jpeg(data_);
  return read(region, denominator, Entropy::libjpeg);
}

JpegDecoder::Part JpegDecoder::read_dct(const Rect& region, int denominator) {
  if (!uses_hooks()) {
    DctTranscoder().decode_to_jpeg(data_, rebuilt_);
    begin_jpeg(rebuilt_);
    return read(region, denominator, Entropy::libjpeg);
  }
  const Part part = read(region, denominator, Entropy::dct);
  if (!is_attached_) throw_broken_dct("its JPEG header is of an unsupported kind");
  if (dct_.failed()) throw_broken_dct("a row of blocks is damaged");
  return part;
}

bool JpegDecoder::uses_hooks() {
  static const bool agrees = [] {
    try {
      return JpegHuffman::is_built() && hooks_agree(std::as_bytes(std::span(kJpegCheckPicture)));
    } catch (const Error&) {
      return false;  // libjpeg will say it of the user's pictures too
    }
  }();
  return agrees;
}

bool JpegDecoder::hooks_agree(std::span<const std::byte> jpeg) {
  JpegDecoder decoder;
  const ImageInfo info = decoder.begin(jpeg);
  std::vector<std::byte> dct;
  if (encode_dct_picture(jpeg, dct)) return false;
  const Rect all{0, 0, info.width, info.height};
  const Rect middle{info.width / 2, info.height / 2, 1 + info.width / 4, 1 + info.height / 4};
  return decoder.agrees_on(jpeg, dct, all, 1) && decoder.agrees_on(jpeg, dct, middle, 1) &&
         decoder.agrees_on(jpeg, dct, all, 4);
}

bool JpegDecoder::agrees_on(std::span<const std::byte> jpeg, std::span<const std::byte> dct,
                            const Rect& region, int denominator) {
  std::vector<uint8_t> expected;
  for (const Entropy entropy : {Entropy::libjpeg, Entropy::own_huffman, Entropy::dct}) {
    begin(entropy == Entropy::dct ? dct : jpeg);
    const Part part = read(region, denominator, entropy);
    if (entropy != Entropy::libjpeg && !is_attached_) return false;
    if (entropy == Entropy::own_huffman && huffman_.failed()) return false;
    if (entropy == Entropy::dct && dct_.failed()) return false;
    std::vector<uint8_t> pixels;
    for (int y = 0; y < part.pixels.height; ++y) {
      const uint8_t* row = part.pixels.data + y * part.pixels.stride;
      pixels.insert(pixels.end(), row, row + ptrdiff_t{3} * part.pixels.width);
    }
    if (entropy == Entropy::libjpeg) {
      expected = std::move(pixels);
    } else if (pixels != expected) {
      return false;
    }
  }
  return true;
}

JpegDecoder::Part JpegDecoder::read(const Rect& region, int denominator, Entropy entropy) {
  const bool is_cmyk = info_.num_components == 4;
  info_.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  set_scale(denominator);
  // Pillow's settings, which are libjpeg's defaults; any other would change pixels.
  info_.dct_method = JDCT_ISLOW;
  info_.do_fancy_upsampling = TRUE;
  errors_.guard(jpeg_.size(), [this] { jpeg_start_decompress(&info_); });

  const int full_width = static_cast<int>(info_.output_width);
  const int full_height = static_cast<int>(info_.output_height);
  JDIMENSION x = 0;
  JDIMENSION width = info_.output_width;
  const bool takes_part = can_take_part();
  if (takes_part && (region.x > kMargin || region.x + region.width + kMargin < full_width)) {
    x = static_cast<JDIMENSION>(std::max(0, region.x - kMargin));
    width = static_cast<JDIMENSION>(std::min(full_width, region.x + region.width + kMargin)) - x;
    // Moves x to the left and widens to whole blocks.
    errors_.guard(jpeg_.size(), [&] { jpeg_crop_scanline(&info_, &x, &width); });
  }
  attach(entropy, x, width);
  const int y = takes_part ? std::max(0, region.y - kMargin) : 0;
  if (y > 0) {
    errors_.guard(jpeg_.size(), [&] { jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(y)); });
  }
  // Rows above the region were decoded for their neighbours' sake; those below are not even read.
  const int num_rows = std::min(full_height, region.y + region.height) - y;
  const auto stride = static_cast<ptrdiff_t>((size_t{3} * info_.output_width + 63) / 64 * 64);
  uint8_t* pixels = pixels_.reserve(static_cast<size_t>(stride) * static_cast<size_t>(num_rows));
  read_rows(pixels, stride, num_rows);
  return {{pixels, static_cast<int>(info_.output_width), num_rows, stride}, static_cast<int>(x), y};
}

void JpegDecoder::set_scale(int denominator) {
  info_.scale_num = static_cast<unsigned>(8 / denominator);
  info_.scale_denom = 8;
}

// libjpeg makes up for a sampling by a larger inverse transform. Where that does not go all the
// way, as from 1x1 to 2x4, upsampling does the rest.
bool JpegDecoder::is_enlarged_in_part(const jpeg_component_info& component) const {
  const int size = scaled_block_size(component);
  const int luma_size = least_scaled_block_size(info_);
  return size != luma_size &&
         (component.h_samp_factor * size != info_.max_h_samp_factor * luma_size ||
          component.v_samp_factor * size != info_.max_v_samp_factor * luma_size);
}

bool JpegDecoder::can_scale(int denominator) {
  set_scale(denominator);
  errors_.guard(jpeg_.size(), [this] { jpeg_calc_output_dimensions(&info_); });
  return std::ranges::none_of(components(), [this](const jpeg_component_info& component) {
    return is_enlarged_in_part(component) &&
           component.v_samp_factor * scaled_block_size(component) !=
               info_.max_v_samp_factor * least_scaled_block_size(info_);
  });
}

// Of a picture whose scans are all known: whether coefficients are missing of it, or are inexact.
// libjpeg then makes blocks smooth by their neighbours, and takes what is cropped away for the
// border of the picture.
bool JpegDecoder::is_incomplete() const {
  if (!info_.progressive_mode || info_.coef_bits == nullptr) return false;
  return std::ranges::any_of(std::span(info_.coef_bits, components().size()), [](const auto& bits) {
    return std::ranges::any_of(bits, [](int missing) { return missing != 0; });
  });
}

// After jpeg_start_decompress(): whether libjpeg gives a part the pixels that the whole has there.
// Of an enlarged component libjpeg-turbo (2.1.5) counts too few samples in a cropped row.
bool JpegDecoder::can_take_part() const {
  return !is_incomplete() &&
         std::ranges::none_of(components(), [this](const jpeg_component_info& component) {
           return is_enlarged_in_part(component);
         });
}

// Hooks in who decodes the coefficients of the columns x .. x + width - 1.
void JpegDecoder::attach(Entropy entropy, JDIMENSION x, JDIMENSION width) {
  is_attached_ = false;
  if (entropy == Entropy::libjpeg || !JpegHuffman::can_take(jpeg_)) return;
  // As jpeg_crop_scanline() counts the columns it keeps.
  const int samples = info_.num_components == 1 ? 1 : info_.max_h_samp_factor;
  const auto column_width = static_cast<JDIMENSION>(samples * least_scaled_block_size(info_));
  const auto first = static_cast<int>(x / column_width);
  const auto last = static_cast<int>((x + width - 1) / column_width);
  is_attached_ = entropy == Entropy::dct ? dct_.attach(info_, first, last, dct_file_)
                                         : huffman_.attach(info_, first, last);
}

void JpegDecoder::read_rows(uint8_t* pixels, ptrdiff_t stride, int num_rows) {
  const bool is_cmyk = info_.num_components == 4;
  uint8_t* cmyk_row = is_cmyk ? cmyk_row_.reserve(size_t{4} * info_.output_width) : nullptr;
  errors_.guard(jpeg_.size(), [&] {
    JSAMPROW rows[kRowsPerCall];
    for (int row = 0; row < num_rows;) {
      const int wanted = is_cmyk ? 1 : std::min(kRowsPerCall, num_rows - row);
      for (int i = 0; i < wanted; ++i) rows[i] = is_cmyk ? cmyk_row : pixels + (row + i) * stride;
      const auto got =
          static_cast<int>(jpeg_read_scanlines(&info_, rows, static_cast<JDIMENSION>(wanted)));
      if (is_cmyk && got == 1) {
        inverted_cmyk_to_rgb(cmyk_row, pixels + row * stride, static_cast<int>(info_.output_width));
      }
      row += got;
    }
  });
}

}  // namespace ffkit
