#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/record.h>

namespace ffkit {
namespace {

constexpr std::array kAll = {DType::u8,  DType::i8,   DType::u16, DType::i16,
                             DType::u32, DType::i32,  DType::u64, DType::i64,
                             DType::f16, DType::bf16, DType::f32, DType::f64};

TEST(VisitDtype, GivesTheTypeOfEveryDtype) {
  for (const DType dtype : kAll) {
    visit_dtype(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      EXPECT_EQ(sizeof(T), size_of(dtype)) << to_string(dtype);
      if constexpr (std::is_arithmetic_v<T>) {
        EXPECT_EQ(dtype_of<T>(), dtype);
        EXPECT_EQ(std::is_integral_v<T>, is_integer(dtype));
      } else {
        EXPECT_EQ((std::is_same_v<T, BFloat16>), dtype == DType::bf16);
        EXPECT_FALSE(is_integer(dtype));
      }
    });
  }
}

TEST(VisitDtype, ReturnsWhatTheVisitorReturns) {
  EXPECT_EQ(
      visit_dtype(DType::i16, [](auto type) { return sizeof(typename decltype(type)::type); }), 2U);
}

TEST(LoadNumber, ReadsAtAnyAlignment) {
  const std::array<std::byte, 5> bytes = {std::byte{9}, std::byte{0x78}, std::byte{0x56},
                                          std::byte{0x34}, std::byte{0x12}};
  EXPECT_EQ(load_number<uint32_t>(bytes.data() + 1), 0x12345678U);
}

TEST(Float16, ConvertsAsIeeeBinary16) {
  const auto value = [](uint16_t bits) { return static_cast<float>(Float16{bits}); };
  EXPECT_EQ(value(0x0000), 0.0F);
  EXPECT_TRUE(std::signbit(value(0x8000)));
  EXPECT_EQ(value(0x3C00), 1.0F);
  EXPECT_EQ(value(0xC000), -2.0F);
  EXPECT_EQ(value(0x3555), 0.333251953125F);
  EXPECT_EQ(value(0x7BFF), 65504.0F);                 // largest
  EXPECT_EQ(value(0x0400), 0.00006103515625F);        // smallest normal, 2^-14
  EXPECT_EQ(value(0x0001), 5.9604644775390625e-08F);  // smallest, 2^-24
  EXPECT_EQ(value(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(value(0x7E00)));
}

TEST(BFloat16, IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(static_cast<float>(BFloat16{0x3F80}), 1.0F);
  EXPECT_EQ(static_cast<double>(BFloat16{0xC049}), -3.140625);
  EXPECT_TRUE(std::isinf(static_cast<float>(BFloat16{0x7F80})));
}

}  // namespace
}  // namespace ffkit
