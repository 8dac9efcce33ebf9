#include "base/number_text.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

TEST(NumberText, IsOfTheWholeText) {
  EXPECT_EQ(number_of_text<int64_t>("-12"), -12);
  EXPECT_EQ(number_of_text<double>("2.5"), 2.5);
  EXPECT_EQ(number_of_text<uint16_t>("65535"), 65535);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "0x1", "9223372036854775808"})
    EXPECT_EQ(number_of_text<int64_t>(text), std::nullopt) << text;
  EXPECT_EQ(number_of_text<uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(number_of_text<uint64_t>("-1"), std::nullopt);
}

}  // namespace
}  // namespace ffkit
