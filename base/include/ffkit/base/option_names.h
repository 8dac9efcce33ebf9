// Options in texts. The library names options by the fields of its structs; users name them by what
// they type. So texts mark the names of options, and the program that shows a text chooses the
// style:
//
//   text                       field           command_line      python
//   option_name("order")        'order'         --order           'order'
//   option_name("bad_samples")  bad_samples     --bad-samples     bad_samples
//   option_set("order", "x")    order = x       --order x         order="x"
//   option_on("resume")         resume = true   --resume          resume=True
//
// Marks are control characters, which texts do not contain otherwise. Errors, notes and help have
// such marks; Error::what() and ConvertOptions::note have already replaced them. Pure functions.
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

// Text for the option `field`, [a-z0-9_]+.
std::string option_name(std::string_view field);
// ... with a value: a word, or a number.
std::string option_set(std::string_view field, std::string_view value);
// ... that is a flag, given.
std::string option_on(std::string_view field);

// `text` with its options in `style`; everything else stays as it is.
std::string with_option_names(std::string_view text, OptionStyle style);

}  // namespace ffkit
