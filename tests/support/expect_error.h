// EXPECT_ERROR(statement, code, ...): the statement throws an ffkit::Error of that code. What else
// is given must hold of its context: EXPECT_ERROR(reader.read(3, record), corrupt, .record = 3,
// .subject = shard); subjects are there without their enum. The sentence is recorded for the test
// of the wording (messages/message_record.h).
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <ffkit/base/error.h>

#include "messages/message_record.h"

namespace ffkit::testing {

// Whether the sentence of an error is recorded.
enum class Words { recorded, any };

template <typename Function>
::testing::AssertionResult throws_error(Function function, ErrorCode code,
                                        const ErrorContext& context = {},
                                        Words words = Words::recorded) {
  try {
    function();
  } catch (const Error& e) {
    const ErrorContext& found = e.context();
    const auto failure = [&](const std::string& what) {
      return ::testing::AssertionFailure() << "error " << what << ": " << e.what();
    };
    if (e.code() != code) return failure(fmt::format("is of code {}", to_string(e.code())));
    if (context.subject != ErrorSubject::unknown && context.subject != found.subject) {
      return failure(fmt::format("is about a {}", to_string(found.subject)));
    }
    if (!context.path.empty() && context.path != found.path) {
      return failure("has the path '" + found.path + "'");
    }
    if (context.record >= 0 && context.record != found.record) {
      return failure("has the record " + std::to_string(found.record));
    }
    if (context.offset >= 0 && context.offset != found.offset) {
      return failure("has the offset " + std::to_string(found.offset));
    }
    if (context.errno_value != 0 && context.errno_value != found.errno_value) {
      return failure("has the errno " + std::to_string(found.errno_value));
    }
    if (!context.name.empty() && context.name != found.name) {
      return failure("has the name '" + found.name + "'");
    }
    if (words == Words::recorded) record_message(e);
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace ffkit::testing

#define EXPECT_ERROR(statement, code, ...) \
  EXPECT_ERROR_WITH(statement, code, ::ffkit::testing::Words::recorded, __VA_ARGS__)

// The same whatever the sentence, for a test that tries hundreds of broken files or is of a part
// that not every build has.
#define EXPECT_ERROR_CODE(statement, code, ...) \
  EXPECT_ERROR_WITH(statement, code, ::ffkit::testing::Words::any, __VA_ARGS__)

#define EXPECT_ERROR_WITH(statement, code, words, ...)                              \
  GTEST_AMBIGUOUS_ELSE_BLOCKER_                                                     \
  if (const ::testing::AssertionResult was_thrown = ::ffkit::testing::throws_error( \
          [&] { static_cast<void>(statement); }, ::ffkit::ErrorCode::code,          \
          [&] {                                                                     \
            using enum ::ffkit::ErrorSubject;                                       \
            return ::ffkit::ErrorContext{__VA_ARGS__};                              \
          }(),                                                                      \
          words))                                                                   \
    ;                                                                               \
  else                                                                              \
    ADD_FAILURE() << #statement << ": " << was_thrown.message() << "\n"
