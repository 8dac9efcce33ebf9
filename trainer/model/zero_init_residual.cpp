#include "model/zero_init_residual.h"

#include <ATen/core/grad_mode.h>

#include <map>
#include <regex>
#include <string>

#include <ffkit/base/error.h>

namespace ffkit {

void zero_init_residual(const Model& model) {
  static const std::regex pattern(R"((layer\d+\.\d+)\.bn(\d+)\.weight)");
  // By block; parameters are listed in order, so the last one stays.
  std::map<std::string, NamedTensor> last;
  for (const NamedTensor& p : model.parameters()) {
    std::smatch match;
    if (std::regex_match(p.name, match, pattern)) last.insert_or_assign(match[1].str(), p);
  }
  if (last.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "the model has no residual blocks for --zero-init-residual; leave it out, or give "
                "an --arch of the ResNet family");
  }
  at::NoGradGuard no_grad;
  for (const auto& [block, p] : last) p.tensor.zero_();
}

}  // namespace ffkit
