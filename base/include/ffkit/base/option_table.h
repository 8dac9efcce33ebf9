// OptionTable: the options of a program, each declared once: its name, meaning, variable and range.
// The command line, --help, Python's signatures and docstrings, TOML files, JSON in checkpoints,
// the pages of docs/ and the checks use the table.
//
//   table.group("Pictures");
//   table.add("size", options.size, "Width and height in pixels").set_range(1, 16384);
//   table.add("crop", options.crop, "Side of the crop")
//       .require(options.crop <= options.size, "at most size");
//   table.add_list("crop", {{"crop_min", &options.min}, {"crop_max", &options.max}}, "MIN MAX",
//                  "Share of the area");
//
// A table refers to the values that it was built over, which must outlive it. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/error.h>

namespace ffkit {

// An option that may be given several times has several texts.
using OptionValue =
    std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<std::string>>;

// Texts by name.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

// One value of an option: most have one, a range has two.
struct OptionPart {
  std::string key;  // in JSON: "crop_min"
  std::function<OptionValue()> get;
  std::function<void(const OptionValue& value)> set;  // of the type that get() gives
};

// Numbers that a value may have. Whole ones are exact up to 2^53.
struct OptionRange {
  double min;
  double max;
};

// More choices than these fill a page: help and errors do not list them.
inline constexpr size_t kMostListedChoices = 20;

struct Option {
  std::string name;       // "crop-scale": --crop-scale on the command line, crop-scale in TOML
  std::string group;      // heading in --help
  std::string help;       // without its full stop; names other options by option_names.h
  std::string type_name;  // of its values, for --help: "MIN MAX", "FILE"; empty: by their type
  std::vector<OptionPart> parts;
  std::vector<std::string> choices;  // the words there are; empty: any value
  std::string left_out;              // what its choices are called by base/left_out.h: "task"
  std::string zero_word;             // stands for 0: "dynamic"; empty: none
  std::optional<OptionRange> range;
  std::string default_words;  // say what happens by default where the value does not: "all"
  // JSON and TOML have it after this option; empty: at the end.
  std::string stored_behind;
  bool is_path = false;         // or paths, each perhaps with more behind it
  bool is_repeated = false;     // may be given several times; its value is a text, or several
  bool is_list = false;         // several names: "train,val" on the command line
  bool is_named = false;        // several values by name: "mask=FOLDER", a mapping in Python
  bool is_argument = false;     // on the command line its values stand without the option's name
  bool is_size = false;         // bytes, also as "256M"
  bool allows_zero = false;     // beside its range: 0 turns it off
  std::optional<double> unset;  // stands for "not given" in the struct, beside its range
  bool is_given = false;        // by give()
  bool is_offered = true;       // false: known, to say why it is refused, but not in help
  bool is_stored = true;        // in checkpoints and config.toml
  bool names_model = false;     // chooses the model: weights that come without a checkpoint need it
  bool is_local = false;        // of one machine: processes of one run may have different values
  // An evaluation or prediction does not take this option over from a stored run, ...
  bool is_of_training = false;
  bool is_of_data = false;  // ... or only by one of the run's own data, ...
  // ... and no continued run takes it over if one of these options is given instead.
  std::vector<std::string> yields_to = {};
  std::string wrong = {};  // what it must be and is not: "at least 1"; empty: its value is right

  // Numbers that the value may have, both ends included.
  Option& set_range(double min, double max) { return with(range, OptionRange{min, max}); }
  // `value` in the struct means "not given"; default_words describe what happens then.
  Option& set_unset(double value, std::string words) {
    unset = value;
    return set_default(std::move(words));
  }
  // As set_range(), and 0.
  Option& set_range_or_zero(double min, double max) {
    allows_zero = true;
    return set_range(min, max);
  }
  // Says what the value must be, and whether it is.
  Option& require(bool holds, const std::string& condition) {
    if (!holds && wrong.empty()) wrong = condition;
    return *this;
  }
  Option& set_default(std::string words) { return with(default_words, std::move(words)); }
  Option& set_type_name(std::string text) { return with(type_name, std::move(text)); }
  Option& set_choices(std::vector<std::string> words) { return with(choices, std::move(words)); }
  // Further words are parts of ffkit that a build may leave out, called `what` in base/left_out.h.
  Option& set_left_out(std::string what) { return with(left_out, std::move(what)); }
  Option& set_zero_word(std::string word) { return with(zero_word, std::move(word)); }
  Option& set_size() { return with(is_size, true); }
  Option& set_stored(bool on) { return with(is_stored, on); }
  Option& set_local() { return with(is_local, true); }
  Option& set_of_training() { return with(is_of_training, true); }
  Option& set_of_data() { return with(is_of_data, true); }
  Option& set_yields_to(std::vector<std::string> names) {
    return with(yields_to, std::move(names));
  }
  Option& set_names_model() { return with(names_model, true); }
  Option& set_argument() { return with(is_argument, true); }

  // Sets the value from a caller. Throws Error(invalid_argument) if it is not one of the choices or
  // out of range, and Error(unsupported) for a choice that is left out of this build.
  void give(const OptionValue& value, size_t part = 0);
  // How texts name it (option_names.h): "crop_scale".
  std::string key() const;
  // "0.08 1".
  std::string text() const;
  // For --help and pages, before a value is given: "256M", "off", default_words; may be empty.
  std::string default_text() const;
  // "1M .. 1T", "0 .. 100", "train, all"; empty: whatever its type allows.
  std::string range_text() const;

 private:
  template <typename T, typename Value>
  Option& with(T& member, Value&& value) {
    member = std::forward<Value>(value);
    return *this;
  }
};

// One of several values of an option: its name in JSON, and its variable.
template <typename T>
struct ListedValue {
  std::string key;
  T* value;
};

class OptionTable {
 public:
  // Heading of the options that are added from now on.
  void group(std::string name) { group_ = std::move(name); }
  // For options of a task: JSON and TOML have the following options after the general option
  // `name`; empty: at the end.
  void store_behind(std::string name) { stored_behind_ = std::move(name); }

  // `value`: bool, an integer, double, std::string or std::filesystem::path. A bool is a flag,
  // which --no-NAME turns off. The key in JSON is the name with '_' instead of '-'.
  template <typename T>
  Option& add(std::string name, T& value, std::string help) {
    Option& option = start(std::move(name), std::move(help));
    option.parts.push_back(part_of(option.key(), value));
    option.is_path = std::is_same_v<T, std::filesystem::path>;
    return option;
  }
  // One of `choices`, names of an enum. Without `choices`: any of its names, which help does not
  // list.
  template <NamedEnum Enum>
  Option& add_choice(std::string name, Enum& value, std::vector<std::string> choices,
                     std::string help) {
    Option& option = start(std::move(name), std::move(help));
    option.choices = std::move(choices);
    option.parts.push_back(
        {.key = option.key(),
         .get = [&value] { return std::string(to_string(value)); },
         .set = [&value](
                    const OptionValue& v) { value = from_name<Enum>(std::get<std::string>(v)); }});
    return option;
  }
  template <NamedEnum Enum>
  Option& add_choice(std::string name, Enum& value, std::string help) {
    return add_choice(std::move(name), value, names_of<Enum>(), std::move(help));
  }
  // Several values of one option.
  template <typename T>
  Option& add_list(std::string name, std::vector<ListedValue<T>> values, std::string type_name,
                   std::string help) {
    Option& option = start(std::move(name), std::move(help));
    option.type_name = std::move(type_name);
    for (const ListedValue<T>& v : values) option.parts.push_back(part_of(v.key, *v.value));
    return option;
  }

  // One or several paths, read by `get` and written by `set`. One path is stored as a text, several
  // as a list.
  Option& add_paths(std::string name, std::function<std::vector<std::string>()> get,
                    std::function<void(const std::vector<std::string>&)> set, std::string help);

  // Names: a list in Python and files, "train,val" on the command line.
  Option& add_names(std::string name, std::vector<std::string>& value, std::string help);

  // Values by name, in the given order: "image=FOLDER mask=FOLDER" on the command line. Refuses
  // texts without "=", and names that appear twice.
  Option& add_named(std::string name, NamedValues& value, std::string help);

  // A text that means other values.
  Option& add_words(std::string name, std::function<std::string()> get,
                    std::function<void(const std::string&)> set, std::string help);

  const std::deque<Option>& options() const { return options_; }
  std::deque<Option>& options() { return options_; }
  // Null if there is none.
  const Option* find(std::string_view name) const;
  Option* find(std::string_view name);
  bool is_given(std::string_view name) const;
  // Throws Error(invalid_argument) that names the first option with a wrong value.
  void check() const;
  // Throws Error(invalid_argument) if one of `names` is given: its name, then `why`, such as "has
  // no effect; leave it out".
  void refuse(std::initializer_list<std::string_view> names, const std::string& why) const;

 private:
  Option& start(std::string name, std::string help);

  template <typename T>
  static OptionPart part_of(std::string key, T& value) {
    if constexpr (std::is_same_v<T, std::filesystem::path>) {
      return {.key = std::move(key),
              .get = [&value] { return value.string(); },
              .set = [&value](const OptionValue& v) { value = std::get<std::string>(v); }};
    } else {
      using Stored =
          std::conditional_t<std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                                 std::is_floating_point_v<T>,
                             T, std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>>;
      return {.key = key,
              .get = [&value] { return OptionValue(Stored(value)); },
              .set =
                  [&value, name = std::move(key)](const OptionValue& v) {
                    value = T(std::get<Stored>(v));
                    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(Stored)) {
                      if (Stored(value) == std::get<Stored>(v)) return;
                      throw Error(ErrorCode::invalid_argument,
                                  name + " has a value that is too large");
                    }
                  }};
    }
  }

  std::deque<Option> options_;  // references to them stay valid
  std::string group_;
  std::string stored_behind_;
};

// Throws as OptionTable::check() for a struct of options that has a describe().
template <typename Options>
void check_options(Options options) {
  OptionTable table;
  describe(options, table);
  table.check();
}

// The stored options, in the order of JSON and TOML: those of `general`, each followed by the
// options of `own` that belong after it; then the rest of `own`.
std::vector<const Option*> stored_options(const OptionTable& general, const OptionTable& own);

}  // namespace ffkit
