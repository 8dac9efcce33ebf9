// main() of a test binary whose suites are tests of ctest: GoogleTest's, but with exit status 77
// when nothing failed and a case was skipped, so that ctest says so.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr int kSkipped = 77;
  const int status = RUN_ALL_TESTS();
  const bool has_skipped = testing::UnitTest::GetInstance()->skipped_test_count() > 0;
  return status == 0 && has_skipped ? kSkipped : status;
}
