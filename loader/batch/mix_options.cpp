#include <ffkit/loader/mix_options.h>

#include "base/refuse.h"

namespace ffkit {
namespace {

constexpr double kMaxAlpha = 1000;

}  // namespace

void validate(const MixOptions& options) {
  check_between("MixOptions mixup_alpha", options.mixup_alpha, 0, kMaxAlpha);
  check_between("MixOptions cutmix_alpha", options.cutmix_alpha, 0, kMaxAlpha);
}

}  // namespace ffkit
