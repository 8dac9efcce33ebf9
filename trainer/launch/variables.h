// Variables: what a launcher says in the environment of the processes that it started.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <ffkit/trainer/launch.h>

namespace ffkit {

[[noreturn]] void refuse_launch(const std::string& message);

// Variables that are set to nothing count as not set. Errors are Error(invalid_argument) that name
// the variable.
class Variables {
 public:
  // `environment` outlives this.
  Variables(Launcher launcher, const Environment& environment)
      : launcher_(launcher), environment_(environment) {}

  bool has(const char* name) const { return text({name}).has_value(); }
  // The first of `names` that is set.
  std::optional<std::string> text(std::initializer_list<const char*> names) const;
  std::string required_text(std::initializer_list<const char*> names) const;
  std::optional<int64_t> number(std::initializer_list<const char*> names) const;
  int64_t required(std::initializer_list<const char*> names) const;
  // A number below `limit`, which is the value of `limit_name`.
  int rank(std::initializer_list<const char*> names, int64_t limit, const char* limit_name) const;
  // MASTER_PORT.
  std::optional<int> port() const;

 private:
  [[noreturn]] void missing(std::initializer_list<const char*> names) const;

  Launcher launcher_;
  const Environment& environment_;
};

// A port that all processes of a step of this job know. Jobs and steps whose numbers follow each
// other, which may share a machine, get different ones.
int port_of_job(std::string_view job, std::string_view step = {});

}  // namespace ffkit
