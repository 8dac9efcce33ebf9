// The table of messages: docs/messages/<room>.md holds, for each test, what its errors say.
//
// EXPECT_ERROR compares the whole sentence of each error with it, so that a test itself names code,
// subject and place alone. After a change of words, tools/messages writes the table anew; its diff
// shows the old and the new sentence side by side.
#pragma once

#include <gtest/gtest.h>

#include <ffkit/base/error.h>

namespace ffkit::testing {

// Says, before the tests of a binary run, whose page they are compared with; expect_error.h does.
// A binary has the tests of one room. Where the page is not there, as on a machine that has the
// binary alone, nothing is compared.
bool use_message_table(const char* room);

// Succeeds when the running test has the sentence of `error` in docs/messages/<room>.md; when the
// test ends, it must have met all that are there. With FFKIT_MESSAGES_RECORD set to a file, the
// sentences go there when the test ends, each once, and nothing is compared.
::testing::AssertionResult is_in_message_table(const Error& error);

}  // namespace ffkit::testing
