// Errors: one exception type for the whole library.
//
// Every failure that leaves a public function is an ffkit::Error. Its text is one sentence that
// names the file, the record (if any), the expected and the found value, and a remedy. All of it is
// available as data, too, so callers need not read the text:
//
//   code()      what went wrong                 context()   where, about what, and the remedy
//   text(style) the sentence, with options as this caller knows them (option_names.h)
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_names.h>

namespace ffkit {

enum class ErrorCode {
  not_found,         // a file, split or field does not exist
  corrupt,           // the bytes contradict their checksum or the format
  io,                // the operating system refused or failed
  invalid_argument,  // the caller asked for something that makes no sense
  unsupported,       // valid, but not handled here (newer version, other codec, ...)
  cancelled,         // stopped on request
};
template <>
inline constexpr auto kNames<ErrorCode> =
    enum_names<ErrorCode>("error code", {{ErrorCode::not_found, "not_found"},
                                         {ErrorCode::corrupt, "corrupt"},
                                         {ErrorCode::io, "io"},
                                         {ErrorCode::invalid_argument, "invalid_argument"},
                                         {ErrorCode::unsupported, "unsupported"},
                                         {ErrorCode::cancelled, "cancelled"}});

// The subject of an error. Code that decides how to continue after an error (leave a sample out,
// wait for a disk, end) uses the subject and the code, never the text.
enum class ErrorSubject : uint8_t {
  unknown,      // nobody has said
  argument,     // what the caller gave: an option, whose field is `name`
  sample,       // one sample of a source, or what is in one record; the others are not concerned
  source,       // data that are converted, as a whole: a listing, an archive
  destination,  // what is written, and the place where
  dataset,      // a data set: its folder, its manifests
  shard,        // a file of records that is damaged or cannot be read
  split,        // the split `name`
  field,        // the field or column `name`
  checkpoint,   // a file of a training run: a checkpoint, weights
};
template <>
inline constexpr auto kNames<ErrorSubject> =
    enum_names<ErrorSubject>("error subject", {{ErrorSubject::unknown, "unknown"},
                                               {ErrorSubject::argument, "argument"},
                                               {ErrorSubject::sample, "sample"},
                                               {ErrorSubject::source, "source"},
                                               {ErrorSubject::destination, "destination"},
                                               {ErrorSubject::dataset, "dataset"},
                                               {ErrorSubject::shard, "shard"},
                                               {ErrorSubject::split, "split"},
                                               {ErrorSubject::field, "field"},
                                               {ErrorSubject::checkpoint, "checkpoint"}});

// Where an error happened; members that do not apply keep their defaults.
struct ErrorContext {
  std::string path = {};  // file or folder
  int64_t record = -1;    // record number within `path` (or within the data set when `path` is one)
  int64_t offset = -1;    // byte offset in `path`
  int errno_value = 0;    // errno of the failed system call
  ErrorSubject subject = ErrorSubject::unknown;
  std::string name = {};    // of the option, split or field that the error is about
  std::string remedy = {};  // what to do: "free some space"; may name options (option_names.h)
};

// The place at the begin of an error's text: "<path>: record <r>: offset <o>: ", without unset
// parts.
std::string place_of(const ErrorContext& context);

class Error : public std::runtime_error {
 public:
  // what() becomes "<path>: record <r>: offset <o>: <message>: <text of errno> (<its name>);
  // <remedy>", without unset parts. `message` and the remedy may name options.
  Error(ErrorCode code, const std::string& message, ErrorContext context = {});

  ErrorCode code() const noexcept { return code_; }
  const ErrorContext& context() const noexcept { return context_; }
  // Only the message, with options as option_names.h marks them.
  const std::string& message() const noexcept { return message_; }
  // The whole sentence; what() is text(OptionStyle::field).
  std::string text(OptionStyle style) const;

  // The same error, with its code and all its context, ... ... with other words.
  [[nodiscard]] Error with_message(const std::string& message) const;
  // ... with more context from a caller: unset members (path, record, offset, errno, subject, name,
  // remedy) are taken from `outer`. If both have a path and they differ, this error keeps its path
  // and record, and the text begins with those of `outer`.
  [[nodiscard]] Error within(const ErrorContext& outer) const;
  // ... about something else, for whoever knows better.
  [[nodiscard]] Error with_subject(ErrorSubject subject) const;
  // ... with this remedy instead of its own.
  [[nodiscard]] Error with_remedy(const std::string& remedy) const;

 private:
  Error(ErrorCode code, const std::string& places, const std::string& message,
        ErrorContext context);

  ErrorCode code_;
  std::string places_;  // where it happened as seen from further out: "train.tar: record 7: "
  std::string message_;
  ErrorContext context_;
};

}  // namespace ffkit
