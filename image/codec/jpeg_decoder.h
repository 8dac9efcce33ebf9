// JpegDecoder: pixels of JPEG pictures by libjpeg-turbo, as files and in the dct code; keeps
// decompressor and buffers between pictures. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/image/image_codec.h>

#include "codec/jpeg_hooks.h"
#include "codec/pixel_buffer.h"
#include "dct/dct_file.h"
#include "jpeg/libjpeg.h"

namespace ffkit {

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Begins a picture, a JPEG or its dct code, by reading its header. `data` must stay until the
  // last read() of it.
  ImageInfo begin(std::span<const std::byte> data);

  // Whether an end of image stands behind the header that begin() has read. Where none does, the
  // file may have been cut. A dct code is always whole.
  bool has_end() const;

  // Whether a decode at 1/denominator of the size shows the picture well. Rare samplings, such as
  // 2x4, would have chroma of half the height.
  bool can_scale(int denominator);

  struct Part {
    RgbView pixels;
    int x = 0;  // of pixels' top left corner in the (scaled) picture
    int y = 0;
  };
  // Decodes at least `region`, in pixels of the picture at 1/denominator (1, 2, 4 or 8) of its
  // size, rounded up. Once for each begin(). The pixels are those of a decode of the whole picture
  // at that scale; the view lives until the next begin().
  Part read(const Rect& region, int denominator);

  // Whether `jpeg`, which is good, gives the same pixels with JpegHuffman, and from its dct code
  // with JpegDct, as by libjpeg alone, whole and in part.
  static bool hooks_agree(std::span<const std::byte> jpeg);
  // Whether both are built and agree on a built-in picture, which is looked at once. The libjpeg of
  // this process may be another one than that of the build. Without them a dct code is made a JPEG
  // again, which libjpeg decodes.
  static bool uses_hooks();

 private:
  // Keeps no tables from picture to picture. libjpeg itself does, in the pool of what lives as long
  // as the decompressor, as MJPEG's pictures without tables want it; here that pool is that of the
  // picture from the first picture on.
  struct Decompressor : jpeg_decompress_struct {
    void* (*alloc_small)(j_common_ptr info, int pool, size_t num_bytes) = nullptr;  // libjpeg's
    void keep_nothing();
    void forget_tables();
  };

  // Who decodes the coefficients.
  enum class Entropy { libjpeg, own_huffman, dct };

  static void init_source(j_decompress_ptr) {}
  static boolean fill_input_buffer(j_decompress_ptr info);
  static void skip_input_data(j_decompress_ptr info, long num_bytes);
  int begin_jpeg(std::span<const std::byte> jpeg);
  Part read_dct(const Rect& region, int denominator);
  Part read(const Rect& region, int denominator, Entropy entropy);
  void set_scale(int denominator);
  std::span<const jpeg_component_info> components() const {
    return {info_.comp_info, static_cast<size_t>(info_.num_components)};
  }
  bool is_enlarged_in_part(const jpeg_component_info& component) const;
  bool is_incomplete() const;
  bool can_take_part() const;
  void attach(Entropy entropy, JDIMENSION x, JDIMENSION width);
  void read_rows(uint8_t* pixels, ptrdiff_t stride, int num_rows);
  bool agrees_on(std::span<const std::byte> jpeg, std::span<const std::byte> dct,
                 const Rect& region, int denominator);

  JpegErrors errors_;
  Decompressor info_ = {};
  jpeg_source_mgr source_ = {};
  JpegHuffman huffman_;
  JpegDct dct_;
  bool is_attached_ = false;  // one of the two
  std::span<const std::byte> data_;
  bool is_dct_ = false;  // data_, whose parts are in dct_file_
  DctFile dct_file_;
  std::span<const std::byte> jpeg_;  // what libjpeg reads: data_ or, of a dct code, the head
  std::vector<std::byte> rebuilt_;   // from a dct code
  PixelBuffer pixels_;
  PixelBuffer cmyk_row_;
};

// The size a JPEG of `size` pixels has when decoded at 1/denominator.
inline int scaled_jpeg_size(int size, int denominator) {
  return (size + denominator - 1) / denominator;
}

// At which fraction of its size a part is decoded: the largest of 1, 2, 4, 8 that leaves at least
// min_width x min_height of the region; 1 where both are 0.
inline int choose_denominator(const Rect& region, int min_width, int min_height) {
  if (min_width <= 0 && min_height <= 0) return 1;
  int denominator = 8;
  while (denominator > 1 && (region.width < int64_t{denominator} * min_width ||
                             region.height < int64_t{denominator} * min_height)) {
    denominator /= 2;
  }
  return denominator;
}

}  // namespace ffkit
