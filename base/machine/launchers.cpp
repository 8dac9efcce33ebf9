#include "machine/launchers.h"

#include <charconv>
#include <cstdint>

namespace ffkit {

bool is_step_of_srun(const std::optional<std::string>& step) {
  // From here on: the terminal of salloc, a batch script, what adopts a login.
  constexpr uint64_t kFirstStepOfItsOwn = 4294967290;
  if (!step) return false;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(step->data(), step->data() + step->size(), number);
  const bool is_number = error == std::errc() && end == step->data() + step->size();
  return is_number && number < kFirstStepOfItsOwn;
}

}  // namespace ffkit
