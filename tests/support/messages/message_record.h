// The wording of errors: tests/messages/ has the sentences that the tests know.
//
// EXPECT_ERROR names code, subject and place. It records the sentence, and when all tests have run,
// the test `messages.wording` compares the record with tests/messages/sentences.txt.
#pragma once

#include <ffkit/base/error.h>

namespace ffkit::testing {

// Appends code, subject and sentence of `error` to the file that FFKIT_MESSAGES_RECORD names, each
// line once a process; does nothing without. Thread-safe.
void record_message(const Error& error);

}  // namespace ffkit::testing
