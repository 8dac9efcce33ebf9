#include "tasks/bevformer/network/backbone_weights.h"

#include <ffkit/trainer/module_model.h>

#include "checkpoint/weights.h"

namespace ffkit {

std::vector<std::string> load_backbone(const std::filesystem::path& file, const std::string& key,
                                       BevFormerNetwork& network) {
  Weights weights = read_weights(file, key);
  ModuleModel backbone(network.backbone());
  load_weights(weights, backbone_rules(network.config().backbone), backbone, HeadPolicy::must_fit,
               &weights.notes);
  return notes_of(file, weights.notes);
}

}  // namespace ffkit
