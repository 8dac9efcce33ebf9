// The weights of a GPT-2 in Hugging Face's files.
#pragma once

#include <string>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

// Gives the tensors of `file` the names of Gpt2Network. The first files of GPT-2 lack
// "transformer." before their names. Left out are the masks of attention that old files hold, and
// an lm_head.weight that is transformer.wte.weight. Throws Error(unsupported) when it is another
// one.
void name_gpt2_tensors(const std::string& file, std::vector<NamedTensor>& tensors);

}  // namespace ffkit
