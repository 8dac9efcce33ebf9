// Pictures for which there is not enough memory: the public functions throw Errors alone, and say
// that it is the memory, not the picture.
#include <ffkit/image/image_resizer.h>

#include "codec/pixel_buffer.h"
#include "encode_webp.h"
#include "image_prelude.h"
#include "little_memory.h"

namespace ffkit {
namespace {

constexpr int kSide = 1400;  // 6 MB
constexpr int64_t kLittle = 2 << 20;
constexpr const char* kSentence = "^there is not enough memory: .*ENOMEM.; give the process more ";

// Takes what malloc() has, and gives back that much.
void leave_heap(int64_t num_bytes) {
  constexpr int64_t kBlock = 4096;
  testing::leave_memory(0);
  struct Block {
    Block* next;
  };
  Block* blocks = nullptr;
  while (void* memory = malloc(kBlock)) blocks = new (memory) Block{blocks};
  for (; num_bytes > 0 && blocks != nullptr; num_bytes -= kBlock) {
    free(std::exchange(blocks, blocks->next));
  }
}

void expect_lack(int64_t num_bytes, const std::function<void()>& call) {
  testing::expect_error_without_memory(num_bytes, kSentence, [&] {
    leave_heap(num_bytes);
    call();
  });
}

class ImageMemory : public ::testing::Test {
 protected:
  void SetUp() override { FFKIT_SKIP_WITHOUT_MEMORY_LIMITS(); }

  const std::vector<uint8_t> pixels_ = std::vector<uint8_t>(size_t{3} * kSide * kSide + 64, 100);
  const RgbView view_{pixels_.data(), kSide, kSide, ptrdiff_t{3} * kSide};
};

TEST_F(ImageMemory, DecodingSaysSo) {
  std::vector<std::byte> ppm;
  encode_ppm(view_, ppm);
  for (const auto& image : {encode_jpeg(view_), encode_png(view_), ppm}) {
    expect_lack(kLittle, [&] { ImageDecoder().decode(image); });
    expect_lack(kLittle, [&] {
      ImageDecoder().decode_region(image, {0, 0, kSide, kSide - 1}, 0, 0);
    });
    expect_lack(kLittle, [&] {
      ImageDecoder decoder;
      decoder.read_info(image);
      decoder.read_region({0, 0, kSide, kSide}, 0, 0);
    });
  }
}

TEST_F(ImageMemory, EncodingAndResizingSaySo) {
  std::vector<std::byte> out;
  expect_lack(kLittle, [&] { encode_ppm(view_, out); });
  expect_lack(kLittle, [&] { ImageResizer().resize(view_, kSide, kSide / 2); });
  const testing::Picture noise = testing::make_picture(600, 500);
  expect_lack(64 << 10, [&] { encode_png(noise.view()); });
  expect_lack(64 << 10, [&] { encode_jpeg(noise.view()); });
}

// How a child process with `num_bytes` of memory ends: 0 well, 1 by an Error about memory, 2 by
// anything else.
int run_with(int64_t num_bytes, const std::function<void()>& call) {
  const pid_t child = fork();
  if (child == 0) {
    leave_heap(num_bytes);
    try {
      call();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::io && error.context().errno_value == ENOMEM) _exit(1);
      fprintf(stderr, "%ld bytes: %s\n", num_bytes, error.what());
      _exit(2);
    } catch (const std::exception& error) {
      fprintf(stderr, "%ld bytes, not an Error: %s\n", num_bytes, error.what());
      _exit(2);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

// Wherever it ends: in libjpeg, libpng, zlib, libwebp or here.
TEST_F(ImageMemory, NoPictureIsCalledBrokenForIt) {
  const testing::Picture picture = testing::make_picture(60, 50);
  const auto jpeg = encode_jpeg(picture.view());
  ImageDecoder().decode(jpeg);  // the built-in picture is looked at once
  for (const auto& image :
       {jpeg, encode_png(picture.view()), testing::encode_webp(60, 50, picture.rgb)}) {
    int num_failures = 0;
    int num_successes = 0;
    for (int64_t kilobytes = 8; kilobytes <= 512; kilobytes += kilobytes < 128 ? 8 : 192) {
      const int end = run_with(kilobytes << 10, [&] { ImageDecoder().decode(image); });
      EXPECT_LE(end, 1) << kilobytes;
      num_failures += end == 1 ? 1 : 0;
      num_successes += end == 0 ? 1 : 0;
    }
    EXPECT_GT(num_failures, 2);
    EXPECT_GT(num_successes, 0);
  }
}

// Where decoded pixels lie.
// Whatever the heap looks like: libjpeg's rows must not begin at multiples of 32.
TEST(PixelBuffer, BeginsBesideTheAlignmentOfStreamingStores) {
  std::vector<std::unique_ptr<char[]>> between;
  for (size_t size = 1; size < 400'000; size += size / 3 + 1) {
    PixelBuffer buffer;
    uint8_t* begin = buffer.reserve(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % PixelBuffer::kAlignment, PixelBuffer::kOffset);
    begin[0] = 1;
    begin[size + PixelBuffer::kSlackBytes - 1] = 2;  // ASan knows whether there is room
    EXPECT_EQ(buffer.reserve(size / 2), begin);
    between.push_back(std::make_unique<char[]>(size % 97));
  }
}

}  // namespace
}  // namespace ffkit
