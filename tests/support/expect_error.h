// EXPECT_ERROR(statement, code, substring): the statement throws an ffkit::Error of that code whose
// message holds the text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <ffkit/format/error.h>

namespace ffkit::testing {

template <typename Function>
::testing::AssertionResult throws_error(Function function, ErrorCode code,
                                        const std::string& text) {
  try {
    function();
  } catch (const Error& e) {
    if (e.code() != code) {
      return ::testing::AssertionFailure()
             << "error is of code " << to_string(e.code()) << ": " << e.what();
    }
    if (std::string(e.what()).find(text) == std::string::npos) {
      return ::testing::AssertionFailure() << "message lacks '" << text << "': " << e.what();
    }
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace ffkit::testing

#define EXPECT_ERROR(statement, code, text)                                         \
  EXPECT_TRUE(::ffkit::testing::throws_error([&] { static_cast<void>(statement); }, \
                                             ::ffkit::ErrorCode::code, (text)))
