// ResNet (He et al., "Deep Residual Learning for Image Recognition", 2015), ResNeXt (Xie et al.,
// "Aggregated Residual Transformations", 2016) and Wide ResNet (Zagoruyko and Komodakis, 2016) as
// torchvision builds them: modules constructed and initialised in the same order with the same
// random draws.
#include <array>

#include "models/blocks/layers.h"
#include "models/blocks/resnet_body.h"

namespace ffkit {
namespace {

struct NamedConfig {
  const char* name;
  ResNetConfig body;
};

class ResNet : public Net {
 public:
  ResNet(const NamedConfig& config, const ModelShape& shape) : body_(*this, config.body) {
    add([this](const at::Tensor& x) { return body_.forward(x).back(); });
    add_head("fc", body_.channels(3), shape);
    initialise_convolutions(*this);
  }

 private:
  ResNetBody body_;
};

constexpr std::array kConfigs = {
    NamedConfig{"resnet18", {.depths = {2, 2, 2, 2}, .has_bottlenecks = false}},
    NamedConfig{"resnet34", {.depths = {3, 4, 6, 3}, .has_bottlenecks = false}},
    NamedConfig{"resnet50", {.depths = {3, 4, 6, 3}}},
    NamedConfig{"resnet101", {.depths = {3, 4, 23, 3}}},
    NamedConfig{"resnet152", {.depths = {3, 8, 36, 3}}},
    NamedConfig{"resnext50_32x4d", {.depths = {3, 4, 6, 3}, .groups = 32, .width_per_group = 4}},
    NamedConfig{"resnext101_32x8d", {.depths = {3, 4, 23, 3}, .groups = 32, .width_per_group = 8}},
    NamedConfig{"resnext101_64x4d", {.depths = {3, 4, 23, 3}, .groups = 64, .width_per_group = 4}},
    NamedConfig{"wide_resnet50_2", {.depths = {3, 4, 6, 3}, .width_per_group = 128}},
    NamedConfig{"wide_resnet101_2", {.depths = {3, 4, 23, 3}, .width_per_group = 128}},
};

}  // namespace

void register_resnet(ModelRegistry& registry) {
  add_models<ResNet>(registry, kConfigs, "fc");
}

}  // namespace ffkit
