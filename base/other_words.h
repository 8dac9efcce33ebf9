// Words that people type for what is called otherwise here: names of earlier versions of ffkit, and
// those of other libraries and programs (options/other_words.txt).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/option_names.h>

namespace ffkit {

// What is meant by `word`, which `place` does not have: "fftrain", "ffconvert folder", "ffconvert
// command" or "Loader", whose names are `known`. "use --num-threads instead", "it is
// num_threads now", or what is spelled alike: "the nearest names are seed, size, split". '_' and
// '-' are the same. `style`: of names.
std::string words_on_name(std::string_view place, std::string_view word,
                          const std::vector<std::string>& known, OptionStyle style);
// Whether the table has it.
bool is_other_word(std::string_view place, std::string_view word,
                   const std::vector<std::string>& known);

// What somebody may have meant by a name that there is not: the three of `names` that need the
// fewest letters changed, added or left out to become `name`, nearest first; '_' and '-' are the
// same.
std::vector<std::string> nearest_names(std::string_view name, std::vector<std::string> names);

struct Renamed {
  std::string kind;  // "option"; "Python"; or the option whose value it is: "order"
  std::string old_name, name;
};
const std::vector<Renamed>& renamed();
// The name of today of what an earlier version has written; `name` itself if it has not changed.
std::string current_name(std::string_view kind, std::string_view name);
// Options and their values.
std::map<std::string, std::string> with_current_names(
    const std::map<std::string, std::string>& options);
// The other way round, for what is hashed: the same options have the same hash in all versions.
std::map<std::string, std::string> with_first_names(
    const std::map<std::string, std::string>& options);

}  // namespace ffkit
