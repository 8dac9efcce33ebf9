// Errors and notes about data that are converted, as a whole: a listing, an archive, an annotation
// file. Who reads samples says of them that they are about the sample.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/make_error.h"
#include "converter/places/place.h"

namespace ffkit {

// Of the engine and its sources.
namespace fs = std::filesystem;

// As error_at() and io_error_at(), of ErrorSubject::source.
inline Error source_error(const fs::path& path, ErrorCode code, const std::string& message) {
  return error_at(shown_place(path), code, message).with_subject(ErrorSubject::source);
}
template <typename First, typename... Rest>
Error source_error(const fs::path& path, ErrorCode code, fmt::format_string<First, Rest...> message,
                   First&& first, Rest&&... rest) {
  return source_error(
      path, code, fmt::format(message, std::forward<First>(first), std::forward<Rest>(rest)...));
}
inline Error source_io_error(const fs::path& path, const std::string& message, int errno_value) {
  return io_error_at(shown_place(path), message, errno_value).with_subject(ErrorSubject::source);
}

// What `list` returns, which lists `folder`.
template <typename List>
auto while_listing(const fs::path& folder, const List& list) {
  try {
    return list();
  } catch (const fs::filesystem_error& error) {
    throw source_io_error(error.path1().empty() ? folder : error.path1(), "cannot be listed",
                          error.code().value());
  }
}

// A sentence of Source::notes(): "<where>: <sentence>".
template <typename... Args>
void add_note(std::vector<std::string>& notes, const std::string& where,
              fmt::format_string<Args...> sentence, Args&&... args) {
  notes.push_back(fmt::format("{}: {}", where, fmt::format(sentence, std::forward<Args>(args)...)));
}

// Of files without a sample. A group of files may be such (ConvertOptions::by_files).
class NoSamples : public Error {
 public:
  explicit NoSamples(const Error& error) : Error(error) {}
};

}  // namespace ffkit
