#include "checkpoint/good_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include <ffkit/base/error.h>

namespace ffkit {

namespace fs = std::filesystem;

void GoodCheckpoint::resumed(const fs::path& path, int64_t steps) {
  last_ = path;
  last_steps_ = steps;
  is_own_ = false;
}

void GoodCheckpoint::written(const fs::path& path, int64_t steps) {
  last_ = path;
  last_steps_ = steps;
  is_own_ = true;
  update();
}

void GoodCheckpoint::proven(int64_t steps) {
  proven_steps_ = std::max(proven_steps_, steps);
  update();
}

void GoodCheckpoint::update() {
  if (!last_.empty() && last_steps_ <= proven_steps_) good_ = last_;
}

std::string GoodCheckpoint::put_aside() {
  std::string out;
  if (!last_.empty() && last_ != good_) {
    if (is_own_) {
      fs::path aside = last_;
      aside += ".not-finite";
      std::error_code error;
      fs::remove_all(aside, error);
      fs::rename(last_, aside, error);
      if (error) {
        throw Error(ErrorCode::io, "cannot be renamed to *.not-finite",
                    {.path = last_.string(),
                     .errno_value = error.value(),
                     .subject = ErrorSubject::destination});
      }
      out = fmt::format("; {}, whose weights give no number, is renamed to *.not-finite",
                        last_.string());
    } else {
      out = fmt::format(
          "; it was the first step after {}, whose weights may be the cause: an earlier checkpoint "
          "with an empty work folder goes on from other ones",
          last_.string());
    }
  }
  if (!good_.empty()) out += fmt::format("; the last good checkpoint is {}", good_.string());
  return out;
}

}  // namespace ffkit
