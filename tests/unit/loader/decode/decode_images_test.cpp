#include <gtest/gtest.h>

#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/loader/field_decoder.h>

#include "expect_error.h"
#include "image/views/picture_views.h"
#include "test_images.h"

namespace ffkit {
namespace {

using testing::make_picture;

TEST(DecodeImages, EachImageHasItsOwnKey) {
  const Schema schema{
      {{.name = "a", .type = FieldType::image}, {.name = "b", .type = FieldType::image}}};
  const auto image = encode_png(make_picture(320, 180, 6).view());
  RecordBuilder builder(schema);
  builder.set_bytes(0, image);
  builder.set_bytes(1, image);
  std::vector<std::byte> record;
  builder.encode(record);
  constexpr ImageOutput kOutput{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};
  const ResizeCrop crop{.size = {40, 60}, .factor_min = 0.3, .factor_max = 0.9, .centered = false};
  const ImageOptions options{.transform = crop, .output = kOutput};
  const auto both = decode_images(schema, {"a", "b"}, options);
  EXPECT_EQ(both->shape(), (std::vector<int64_t>{2, 40, 60, 3}));
  std::vector<uint8_t> pixels(size_t{2} * 40 * 60 * 3);
  const SampleKey key{.seed = 1, .epoch = 2, .record_index = 3};
  const auto scratch = both->make_scratch();
  both->decode(RecordView(schema, record), key, scratch.get(), pixels.data());
  const auto alone = [&](const SampleKey& its_key) {
    std::vector<uint8_t> out(size_t{40} * 60 * 3);
    PipelineTimes times;
    ImagePipeline(options).run(image, its_key, out.data(), times);
    return out;
  };
  auto expected = alone(key);
  const auto second = alone(image_key(key, 1));
  EXPECT_NE(expected, second);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(pixels, expected);
  EXPECT_ERROR(decode_images(schema, {"a", "c"}, options), not_found, .subject = field);
}

}  // namespace
}  // namespace ffkit
