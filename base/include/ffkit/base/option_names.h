// Options in texts. The library knows options by the fields of its structs; people know them by
// what they type. So a text marks the options that it names, and who shows it says in which style:
//
//   text                       field           command_line      python
//   option_name("order")        order           --order           order
//   option_set("order", "x")    order = x       --order x         order="x"
//   option_on("resume")         resume = true   --resume          resume=True
//
// Marks are control characters, which no text has by itself. Errors, notes and help have such
// texts; Error::what() and ConvertOptions::note have them in a style already. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ffkit {

enum class OptionStyle : uint8_t {
  field,         // as in C++
  command_line,  // as in a shell
  python,        // as an argument of Python's functions
};

// Text for the option `field`, [a-z0-9_]+; a field called otherwise is shown so (shard_bytes).
std::string option_name(std::string_view field);
// ... with a value: a word, or a number.
std::string option_set(std::string_view field, std::string_view value);
// ... that is a flag, given.
std::string option_on(std::string_view field);

// `text` with its options in `style`; everything else stays as it is.
std::string with_option_names(std::string_view text, OptionStyle style);

}  // namespace ffkit
