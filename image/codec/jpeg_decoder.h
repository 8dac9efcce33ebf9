// JpegDecoder: pixels of JPEG images by libjpeg-turbo; keeps decompressor and buffers between
// images. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>

#include <ffkit/image/image_codec.h>

#include "codec/jpeg_error.h"
#include "codec/jpeg_huffman.h"
#include "codec/libjpeg.h"
#include "codec/pixel_buffer.h"

namespace ffkit {

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Begins an image by reading its header. `data` must stay until the last read() of it.
  ImageInfo begin(std::span<const std::byte> data);

  // Whether an end of image stands behind the header that begin() has read. Where none does, the file may have been cut.
  bool has_end() const;

  struct Part {
    RgbView pixels;
    int x = 0;  // of pixels' top left corner in the (scaled) image
    int y = 0;
  };
  // Decodes at least `region`, in pixels of the image at 1/denominator (1, 2, 4 or 8) of its size,
  // rounded up. Once for each begin(). The pixels are those of a decode of the whole image at that
  // scale; the view lives until the next begin().
  Part read(const Rect& region, int denominator);

  // Whether `jpeg`, which is good, gives the same pixels with JpegHuffman as by libjpeg alone, whole and in part.
  static bool huffman_agrees(std::span<const std::byte> jpeg);
  // Whether JpegHuffman is built and agrees on a built-in picture, which is looked at once. The libjpeg of this process may be another one
  // than that of the build.
  static bool uses_own_huffman();

 private:
  // Keeps no tables from image to image. libjpeg itself does, in the pool of what lives as long as the decompressor, as MJPEG's pictures
  // without tables want it; here that pool is that of the image from the first image on.
  struct Decompressor : jpeg_decompress_struct {
    void* (*alloc_small)(j_common_ptr info, int pool, size_t num_bytes) = nullptr;  // libjpeg's
    void keep_nothing();
    void forget_tables();
  };

  static void init_source(j_decompress_ptr) {}
  static boolean fill_input_buffer(j_decompress_ptr info);
  static void skip_input_data(j_decompress_ptr info, long num_bytes);
  Part read(const Rect& region, int denominator, bool own_huffman);
  void read_rows(uint8_t* pixels, ptrdiff_t stride, int num_rows);
  bool agrees_on(const Rect& region, int denominator);

  JpegErrors errors_;
  Decompressor info_ = {};
  jpeg_source_mgr source_ = {};
  JpegHuffman huffman_;
  bool huffman_is_attached_ = false;
  std::span<const std::byte> data_;
  PixelBuffer pixels_;
  PixelBuffer cmyk_row_;
};

// The size a JPEG of `size` pixels has when decoded at 1/denominator.
inline int scaled_jpeg_size(int size, int denominator) {
  return (size + denominator - 1) / denominator;
}

}  // namespace ffkit
