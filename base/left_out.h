// What a build leaves out: sources, kinds of demo, tasks, subcommands and programs, by the options
// FFKIT_SOURCES, FFKIT_TASKS and FFKIT_INSPECT of CMake. Whoever is asked for one says so, with the
// command that builds it. Thread-safe.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/error.h>

namespace ffkit {

struct LeftOutPart {
  std::string_view what;  // "source", "kind of demo", "task", "subcommand"
  std::string_view name;
};

struct LeftOutParts {
  std::span<const LeftOutPart> parts;
  std::string_view command;  // builds everything
};

// CMake writes it (left_out_parts.cpp.in). A test program may define its own.
LeftOutParts left_out_parts();

// Error(unsupported): what was asked for is left out of this build.
class LeftOutError : public Error {
 public:
  // `message` says what; the command follows.
  explicit LeftOutError(const std::string& message);
};

// The names of all `what` that are left out.
std::vector<std::string> left_out_names(std::string_view what);

// Throws LeftOutError if this build leaves out the `what` of this name: "the source 'coco' is left
// out of this build; ...".
void require_built(std::string_view what, std::string_view name);

// For --help, with a line's end at both ends: what is left out, and what builds it. Empty: nothing
// is.
std::string left_out_line(std::initializer_list<std::string_view> whats);

// `text` of --help without the lines of examples that call a `what` that is left out: by its name,
// or by a file that is named after it.
std::string built_examples(std::string_view text, std::string_view what);

}  // namespace ffkit
