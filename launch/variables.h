// Variables: what launchers say in the environment of the processes that they started, and what is
// said of it when it cannot be.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include <ffkit/launch/launch.h>

namespace ffkit {

// What run_local_processes() tells the processes that it starts, beside the variables that torchrun
// sets.
inline constexpr char kStartedVariable[] = "FFKIT_STARTED_BY_FFTRAIN";
// Descriptor of the socket on which rank 0 is to serve the store; it listens already, so no other
// program can take its port.
inline constexpr char kSocketVariable[] = "FFKIT_LISTENING_SOCKET";

// How one entrance speaks of variables: with what its user can do. The texts may hold {name} and
// {value} of the variable, {other} and {other_value} of the one that goes with it, and {detail}.
struct LaunchWords {
  const char* no_number;
  const char* missing;     // {name} must be there, because {other} is or the launcher needs it
  const char* too_high;    // {name} counts to less than {other}
  const char* rank_alone;  // {name} is a rank, and nothing says of how many
  const char* too_large = nullptr;  // more than an int holds; null: as no_number
};

[[noreturn]] void refuse_launch(const std::string& message);

// Variables that are set to nothing count as not set. Errors are Error(invalid_argument) that name
// the variable.
class Variables {
 public:
  // `environment` and `words` outlive this. `detail` stands for {detail} in the words.
  Variables(const Environment& environment, const LaunchWords& words, std::string detail = {})
      : environment_(environment), words_(words), detail_(std::move(detail)) {}

  bool has(const char* name) const { return text({name}).has_value(); }
  // The first of `names` that is set.
  std::optional<std::string> text(std::initializer_list<const char*> names) const;
  std::string required_text(std::initializer_list<const char*> names) const;
  // 0 or more, as an int holds it; spaces around it do not count.
  std::optional<int64_t> number(std::initializer_list<const char*> names) const;
  // `because`: a variable that is set, and makes no sense without.
  int64_t required(std::initializer_list<const char*> names, const char* because = "") const;
  // A number below `limit`, which is the value of `limit_name`.
  int rank(std::initializer_list<const char*> names, int64_t limit, const char* limit_name) const;

  // By a member of LaunchWords.
  [[noreturn]] void refuse(const char* words, const char* name, const char* other = "",
                           const std::string& other_value = {}) const;
  const LaunchWords& words() const { return words_; }
  const std::string& detail() const { return detail_; }

 private:
  const Environment& environment_;
  const LaunchWords& words_;
  std::string detail_;
};

}  // namespace ffkit
