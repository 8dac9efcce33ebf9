#include "tasks/classification/classification_python.h"

#include <fmt/format.h>

#include <ffkit/trainer/classification.h>

namespace ffkit {

PythonModel classification_python(const TrainOptions& options, int64_t num_classes) {
  const ClassificationOptions& own = classification(options);
  // The one model whose tensors depend on the size of the pictures.
  const std::string size =
      own.arch.starts_with("vit") ? fmt::format(", image_size={}", own.image_size) : "";
  return {.packages = "torch torchvision",
          .code = fmt::format(R"(import torchvision

# RGB, each channel less ImageNet's mean and divided by its deviation.
INPUTS = {{'images': torch.randn(2, 3, {0}, {0})}}
OUTPUTS = ['logits']


def make_model(weights):
    model = torchvision.models.{1}(num_classes={2}{3})
    model.load_state_dict(weights)
    return model
)",
                              own.image_size, own.arch, num_classes, size)};
}

}  // namespace ffkit
