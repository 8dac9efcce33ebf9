#include "base/parsed_number.h"

#include "test_prelude.h"

namespace ffkit {
namespace {

TEST(ParsedNumber, IsOfTheWholeText) {
  EXPECT_EQ(parsed_number<int64_t>("-12"), -12);
  EXPECT_EQ(parsed_number<double>("2.5"), 2.5);
  EXPECT_EQ(parsed_number<uint16_t>("65535"), 65535);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "0x1", "9223372036854775808"})
    EXPECT_EQ(parsed_number<int64_t>(text), std::nullopt) << text;
  EXPECT_EQ(parsed_number<uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(parsed_number<uint64_t>("-1"), std::nullopt);
}

}  // namespace
}  // namespace ffkit
