// ModelRegistry: the models there are, by name. A file models/<family>.cpp holds a family of models
// and the function
//
//   void register_<family>(ModelRegistry& registry);
//
// whose call is generated from the name of the file: a new model needs no other change.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

class ImageModel;  // models/blocks/image_model.h

// What the user of a model chooses.
struct ModelShape {
  int64_t num_classes = 1000;
  // Probability that an input of the head is dropped in training; -1: the model's own.
  double dropout = -1;
  int64_t image_size = 224;  // side of the pictures; matters to models with a positional embedding
};

struct ModelEntry {
  std::string name;  // torchvision's
  std::string head;  // the linear layer that gives the logits, for example "fc"
  // Draws the initial weights from libtorch's default CPU generator. Throws Error(invalid_argument)
  // for a picture size that the model cannot have.
  std::function<std::unique_ptr<ImageModel>(const ModelShape& shape)> make;
  // Today's name of a tensor in an older file of torchvision; empty when no name ever changed.
  std::function<std::string(const std::string& name)> current_name;
};

class ModelRegistry {
 public:
  // It has every model of models/. Any thread may use it while nobody adds to it.
  static ModelRegistry& instance();

  // A program adds its own models before it starts other threads.
  void add(ModelEntry entry) { entries_.push_back(std::move(entry)); }
  // Throws Error(invalid_argument) that lists the names there are.
  const ModelEntry& find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::vector<ModelEntry> entries_;
};

// The weights of torchvision's models under the names that timm and transformers have for the same
// networks: renames the tensors of `model`, a name of the registry. Throws Error(unsupported) where
// the library has no model that computes the same, or none that is known here, and
// Error(invalid_argument) for another library.
void use_names_of(const std::string& library, const std::string& model,
                  std::vector<NamedTensor>& tensors);

// The config.json with which transformers' from_pretrained() finds the network of `model`;
// use_names_of() has taken it.
std::string transformers_config(const std::string& model, int64_t image_size,
                                const std::vector<std::string>& classes);

}  // namespace ffkit
