// Compares models of the registry with torchvision's models of the same name: one model of each
// family and of each kind of block; with FFKIT_ALL_MODELS set in the environment, every model (3
// minutes). One Python process computes all expected values.
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linspace.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "model/model_registry.h"
#include "models/blocks/image_model.h"
#include "reference_python.h"
#include "support/test_models.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kSide = 64;
int64_t side_of(const std::string& arch) {
  return arch == "vit_h_14" ? 56 : kSide;  // its squares have 14 pixels
}
constexpr int64_t kClasses = 6;

// Draws its initial weights, takes other batch norm statistics, layer scales and head than the
// initial ones, which would hide mistakes; then the logits in evaluation mode, and of the models in
// TRAINED one loss in training mode, with random drops, and the norm of the first gradient.
constexpr char kLogitsScript[] = R"(
import sys, torch, torchvision
torch.set_num_threads(1)
out = open('out', 'w')
for arch, side in zip(ARCHS, SIDES):
    x = torch.linspace(-1, 1, 4 * 3 * side * side).view(4, 3, side, side)
    torch.manual_seed(11)
    size = {'image_size': side} if arch.startswith('vit') else {}
    m = getattr(torchvision.models, arch)(num_classes=CLASSES, **size)
    print(arch, len(m.state_dict()), len(list(m.parameters())), file=out)
    for k, v in m.state_dict().items():
        print(k, v.dim(), *v.shape, float(v.abs().sum(dtype=torch.float64)), file=out)
    print(*[k for k, _ in m.named_parameters()], file=out)
    with torch.no_grad():
        for k, v in m.state_dict().items():
            i = torch.arange(v.numel()).view(v.shape)
            if k.endswith('running_mean'): v.copy_((i % 5 - 2) / 20)
            if k.endswith('running_var'): v.copy_(1 + i % 7 / 2)
            if k.endswith('layer_scale'): v.fill_(0.25)
            if k == 'heads.head.weight': v.copy_((i % 11 - 5) / 50)
        m.eval()
        print(*m(x[:1]).flatten().tolist(), file=out)
    if arch in TRAINED:
        m.train()
        torch.manual_seed(5)
        loss = torch.nn.functional.cross_entropy(m(x), torch.tensor([0, 1, 2, 3]))
        loss.backward()
        print(loss.item(), next(m.parameters()).grad.norm().item(), file=out)
out.close()
)";

const std::vector<std::string> kTrained = {
    "resnet18",        "mobilenet_v2",      "mobilenet_v3_small",
    "efficientnet_b0", "efficientnet_v2_s", "convnext_tiny",
    "vit_b_16",        "resnext50_32x4d",   "alexnet",
    "vgg11_bn",        "squeezenet1_1",     "densenet121",
    "swin_t",          "swin_v2_t",         "regnet_y_400mf",
    "mnasnet0_75",     "shufflenet_v2_x0_5"};
const std::vector<std::string> kOthers = {
    "resnet50", "wide_resnet50_2", "mobilenet_v3_large", "efficientnet_b5",
    "vit_b_32", "vgg13",           "squeezenet1_0",      "regnet_x_8gf"};

std::vector<std::string> compared_archs() {
  std::vector<std::string> archs = kTrained;
  if (std::getenv("FFKIT_ALL_MODELS") == nullptr) {
    archs.insert(archs.end(), kOthers.begin(), kOthers.end());
    return archs;
  }
  archs = ModelRegistry::instance().names();
  std::erase_if(archs, [](const std::string& arch) { return arch.starts_with("test_"); });
  return archs;
}

std::map<std::string, at::Tensor> tensors_of(const Model& model) {
  std::map<std::string, at::Tensor> all;
  for (const NamedTensor& t : model.parameters()) all[t.name] = t.tensor;
  for (const NamedTensor& t : model.buffers()) all[t.name] = t.tensor;
  return all;
}

void expect_same_draws(std::istream& in, size_t num_tensors, const Model& model) {
  std::map<std::string, at::Tensor> ours = tensors_of(model);
  ASSERT_EQ(num_tensors, ours.size());
  for (size_t i = 0; i < num_tensors; ++i) {
    std::string name;
    int64_t num_dims = 0;
    in >> name >> num_dims;
    std::vector<int64_t> shape(static_cast<size_t>(num_dims));
    for (int64_t& extent : shape) in >> extent;
    double sum = 0;
    in >> sum;
    ASSERT_TRUE(in) << "Python's output ends early";
    ASSERT_TRUE(ours.contains(name)) << name;
    EXPECT_EQ(ours[name].sizes().vec(), shape) << name;
    EXPECT_NEAR(ours[name].detach().abs().sum(at::kDouble).item<double>(), sum, 1e-9 * (1 + sum))
        << name;
  }
}

// As kScript does.
void change_weights(const Model& model) {
  for (auto& [name, tensor] : tensors_of(model)) {
    const at::Tensor i = at::arange(tensor.numel()).view(tensor.sizes());
    if (name.ends_with("running_mean")) tensor.copy_((i.remainder(5) - 2) / 20.0);
    if (name.ends_with("running_var")) tensor.copy_(1 + i.remainder(7) / 2.0);
    if (name.ends_with("layer_scale")) tensor.fill_(0.25);
    if (name == "heads.head.weight") tensor.copy_((i.remainder(11) - 5) / 50.0);
  }
}

TEST(Models, EqualTorchvisions) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir temp;
  const std::vector<std::string> archs = compared_archs();
  std::vector<int64_t> sides;
  for (const std::string& arch : archs) sides.push_back(side_of(arch));
  const std::string header = fmt::format(
      "ARCHS = '{}'.split()\nTRAINED = '{}'.split()\nSIDES = [{}]\nCLASSES = {}\n",
      fmt::join(archs, " "), fmt::join(kTrained, " "), fmt::join(sides, ", "), kClasses);
  ASSERT_TRUE(testing::run_python(header + kLogitsScript, temp.path()));
  std::ifstream in(temp / "out");
  at::set_num_threads(1);
  for (const std::string& arch : archs) {
    SCOPED_TRACE(arch);
    const int64_t side = side_of(arch);
    const at::Tensor x = at::linspace(-1, 1, 4 * 3 * side * side).view({4, 3, side, side});
    std::string name;
    size_t num_tensors = 0;
    size_t num_parameters = 0;
    in >> name >> num_tensors >> num_parameters;
    ASSERT_EQ(name, arch);
    at::manual_seed(11);
    const std::unique_ptr<ImageModel> model =
        ModelRegistry::instance().find(arch).make({.num_classes = kClasses, .image_size = side});
    expect_same_draws(in, num_tensors, *model);
    ASSERT_EQ(num_parameters, model->parameters().size());
    for (const NamedTensor& parameter : model->parameters()) {
      in >> name;
      EXPECT_EQ(parameter.name, name) << "the order of the parameters";
    }
    {
      at::NoGradGuard no_grad;
      change_weights(*model);
      model->set_training(false);
      const at::Tensor logits = model->forward(x.narrow(0, 0, 1)).flatten();
      for (int64_t i = 0; i < kClasses; ++i) {
        double expected = 0;
        in >> expected;
        EXPECT_NEAR(logits[i].item<double>(), expected, 1e-4) << "logit " << i;
      }
    }
    if (std::find(kTrained.begin(), kTrained.end(), arch) == kTrained.end()) continue;
    model->set_training(true);
    at::manual_seed(5);
    const at::Tensor loss = at::cross_entropy_loss(model->forward(x), at::arange(4));
    loss.backward();
    double expected_loss = 0;
    double expected_norm = 0;
    in >> expected_loss >> expected_norm;
    ASSERT_TRUE(in) << "Python's output ends early";
    EXPECT_NEAR(loss.item<double>(), expected_loss, 1e-4);
    EXPECT_NEAR(model->parameters().front().tensor.grad().norm().item<double>(), expected_norm,
                1e-3 * (1e-6 + expected_norm));
  }
}

// What torchvision 0.29 gives, printed by the lines of kLogitsScript that lead to the logits, in
// float64: a model of each family and of each kind of block. No Python needed.
TEST(Models, GiveTorchvisionsLogits) {
  const std::map<std::string, std::vector<double>> expected = {
      {"resnet18",
       {-0.013255221, -0.04684468, -0.037640181, 0.069894446, 0.038238326, -0.11315244}},
      {"resnet50",
       {0.085398118, -0.070499819, 0.069262729, -0.089886905, -0.050710318, -0.0095754176}},
      {"resnext50_32x4d",
       {0.052528643, 0.024701971, -0.01425741, -0.061013314, 0.0019003914, -0.042849834}},
      {"mobilenet_v2",
       {-0.010375855, -0.011008072, -0.0028823138, -0.038232733, -0.0054667732, 0.017503763}},
      {"mobilenet_v3_large",
       {-0.00072425873, 0.0015058323, -0.0022191951, 0.0001691858, -0.0032279891, 0.0023195781}},
      {"mobilenet_v3_small",
       {0.0013416864, -0.0020526697, -0.00098844761, -0.00066624528, -0.00061216168,
        -0.0022296992}},
      {"efficientnet_b0",
       {-0.38706477, -0.037229779, -0.48808233, -0.57345463, 0.10009652, 0.24475043}},
      {"convnext_tiny", {-0.76381284, 0.12897167, 0.21664629, 0.76396421, -1.032713, -0.34852782}},
      {"vit_b_16", {0.8458354, 1.7929354, 2.1953712, -0.16436576, -0.84983563, 2.5342449}},
  };
  at::NoGradGuard no_grad;
  at::set_num_threads(1);
  const at::Tensor x =
      at::linspace(-1, 1, 3 * kSide * kSide).view({1, 3, kSide, kSide}).to(at::kDouble);
  for (const auto& [arch, logits] : expected) {
    SCOPED_TRACE(arch);
    at::manual_seed(11);
    const std::unique_ptr<ImageModel> model =
        ModelRegistry::instance().find(arch).make({.num_classes = kClasses, .image_size = kSide});
    change_weights(*model);
    testing::compute_in_float64(*model);
    model->set_training(false);
    const at::Tensor found = model->forward(x).flatten();
    // The draws of the weights differ by 1e-7 of themselves from one processor to another.
    const double largest = std::abs(
        *std::ranges::max_element(logits, {}, [](double value) { return std::abs(value); }));
    for (int64_t i = 0; i < kClasses; ++i) {
      EXPECT_NEAR(found[i].item<double>(), logits[size_t(i)], 1e-5 * largest) << "logit " << i;
    }
  }
}

// Names as they are asked for, the head that the registry says, and logits in both memory formats;
// no Python needed.
TEST(Models, AreWholeInTheRegistry) {
  at::NoGradGuard no_grad;
  at::set_num_threads(1);
  const at::Tensor x = at::linspace(-1, 1, int64_t{3} * 32 * 32).view({1, 3, 32, 32});
  for (const char* arch : {"resnet18", "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small",
                           "efficientnet_b0", "convnext_tiny", "vgg11", "densenet121",
                           "regnet_y_400mf", "mnasnet0_5", "shufflenet_v2_x0_5"}) {
    SCOPED_TRACE(arch);
    const ModelEntry& entry = ModelRegistry::instance().find(arch);
    const std::unique_ptr<ImageModel> model = entry.make({.num_classes = 3, .image_size = 32});
    const std::map<std::string, at::Tensor> tensors = tensors_of(*model);
    ASSERT_TRUE(tensors.contains(entry.head + ".weight"));
    EXPECT_EQ(tensors.at(entry.head + ".weight").size(0), 3);
    EXPECT_EQ(tensors.at(entry.head + ".bias").size(0), 3);
    change_weights(*model);
    model->set_training(false);
    const at::Tensor plain = model->forward(x);
    EXPECT_EQ(plain.sizes().vec(), (std::vector<int64_t>{1, 3}));
    model->use_channels_last();
    const at::Tensor last = model->forward(x.contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_LT(plain.sub(last).abs().max().item<double>(), 1e-4);
  }
}

TEST(Models, SayWhichPicturesAreTooSmall) {
  const std::unique_ptr<ImageModel> model =
      ModelRegistry::instance().find("squeezenet1_1").make({.num_classes = 3, .image_size = 32});
  EXPECT_EQ(model->forward(at::zeros({1, 3, 32, 21})).size(1), 3);
  EXPECT_ERROR(model->forward(at::zeros({1, 3, 32, 20})), invalid_argument);
}

TEST(Models, VisionTransformerSaysWhichImageSizesItTakes) {
  const ModelEntry& vit = ModelRegistry::instance().find("vit_b_16");
  EXPECT_ERROR(vit.make({.num_classes = 3, .image_size = 33}), invalid_argument);
  const std::unique_ptr<ImageModel> model = vit.make({.num_classes = 3, .image_size = 32});
  EXPECT_ERROR(model->forward(at::linspace(0, 1, 3 * 48 * 48).view({1, 3, 48, 48})),
               invalid_argument);
}

std::string renamed(const std::string& library, const std::string& model, const std::string& name) {
  std::vector<NamedTensor> tensors = {{name, at::arange(6)}};
  use_names_of(library, model, tensors);
  return tensors.at(0).name;
}

// The whole of them is loaded by timm and transformers in tests/cli/compare_onnx.py.
TEST(LibraryNames, AreThoseOfTheLibrary) {
  EXPECT_EQ(renamed("torchvision", "mobilenet_v3_small", "a.b"), "a.b");
  EXPECT_EQ(renamed("timm", "wide_resnet50_2", "layer1.0.conv1.weight"), "layer1.0.conv1.weight");
  EXPECT_EQ(renamed("timm", "vit_b_16", "encoder.layers.encoder_layer_11.mlp.3.bias"),
            "blocks.11.mlp.fc2.bias");
  EXPECT_EQ(renamed("timm", "convnext_tiny", "features.5.8.block.3.weight"),
            "stages.2.blocks.8.mlp.fc1.weight");
  EXPECT_EQ(renamed("timm", "convnext_tiny", "features.6.1.bias"), "stages.3.downsample.1.bias");
  EXPECT_EQ(renamed("timm", "mobilenet_v2", "features.1.conv.1.weight"),
            "blocks.0.0.conv_pw.weight");
  EXPECT_EQ(renamed("timm", "mobilenet_v2", "features.17.conv.3.running_var"),
            "blocks.6.0.bn3.running_var");
  EXPECT_EQ(renamed("timm", "efficientnet_b0", "features.2.1.block.3.0.weight"),
            "blocks.1.1.conv_pwl.weight");
  EXPECT_EQ(renamed("timm", "efficientnet_b0", "features.1.0.block.1.fc2.bias"),
            "blocks.0.0.se.conv_expand.bias");
  EXPECT_EQ(renamed("transformers", "resnet18", "layer2.0.downsample.1.bias"),
            "resnet.encoder.stages.1.layers.0.shortcut.normalization.bias");
  EXPECT_EQ(renamed("transformers", "convnext_tiny", "features.1.0.layer_scale"),
            "convnext.encoder.stages.0.layers.0.layer_scale_parameter");
}

TEST(LibraryNames, DivideWhatTheLibraryHasInParts) {
  std::vector<NamedTensor> tensors = {
      {"encoder.layers.encoder_layer_2.self_attention.in_proj_bias", at::arange(6)}};
  use_names_of("transformers", "vit_b_16", tensors);
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[1].name, "vit.encoder.layer.2.attention.attention.key.bias");
  EXPECT_EQ(tensors[2].tensor[0].item<int64_t>(), 4);
}

TEST(LibraryNames, AreRefusedWhereNetworksDiffer) {
  EXPECT_ERROR(renamed("timm", "mobilenet_v3_small", "a"), unsupported);
  EXPECT_ERROR(renamed("transformers", "resnext50_32x4d", "a"), unsupported);
  EXPECT_ERROR(renamed("keras", "resnet18", "a"), invalid_argument);
}

TEST(LibraryNames, ComeWithASetting) {
  const auto json = nlohmann::json::parse(transformers_config("resnet152", 224, {"a", "b"}));
  EXPECT_EQ(json.at("depths"), nlohmann::json({3, 8, 36, 3}));
  EXPECT_EQ(json.at("id2label").at("1"), "b");
  EXPECT_EQ(json.at("architectures").at(0), "ResNetForImageClassification");
}

}  // namespace
}  // namespace ffkit
