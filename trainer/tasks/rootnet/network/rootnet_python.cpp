#include "tasks/rootnet/network/rootnet_python.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ffkit {
namespace {

// As rootnet_network.cpp computes.
constexpr char kModules[] = R"(

class Block(torch.nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * (4 if BOTTLENECKS else 1)
        convs = ([(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)] if BOTTLENECKS
                 else [(inputs, width, 3, stride), (width, width, 3, 1)])
        self.count = len(convs)
        for i, (a, b, size, step) in enumerate(convs, 1):
            setattr(self, f'conv{i}', torch.nn.Conv2d(a, b, size, step, size // 2, bias=False))
            setattr(self, f'bn{i}', torch.nn.BatchNorm2d(b))
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = torch.nn.Sequential(
                torch.nn.Conv2d(inputs, outputs, 1, stride, bias=False), torch.nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f'bn{i}')(getattr(self, f'conv{i}')(y))
            if i < self.count:
                y = y.relu()
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, WIDTH, 7, 2, 3, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(WIDTH)
        self.maxpool = torch.nn.MaxPool2d(3, 2, 1)
        inputs = WIDTH
        for stage, depth in enumerate(DEPTHS):
            blocks = []
            for j in range(depth):
                blocks.append(Block(inputs, WIDTH << stage, 2 if stage > 0 and j == 0 else 1))
                inputs = (WIDTH << stage) * (4 if BOTTLENECKS else 1)
            setattr(self, f'layer{stage + 1}', torch.nn.Sequential(*blocks))
        self.channels = inputs

    def forward(self, x):
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))


class Root(torch.nn.Module):
    def __init__(self, inputs):
        super().__init__()
        layers = []
        for i in range(3):
            layers += [torch.nn.ConvTranspose2d(DECONV if i else inputs, DECONV, 4, 2, 1, bias=False),
                       torch.nn.BatchNorm2d(DECONV), torch.nn.ReLU()]
        self.deconv_layers = torch.nn.Sequential(*layers)
        self.xy_layer = torch.nn.Conv2d(DECONV, 1, 1)
        self.depth_layer = torch.nn.Conv2d(inputs, 1, 1)


class RootNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = ResNet()
        self.root = Root(self.backbone.channels)

    def forward(self, images, k):
        features = self.backbone(images)
        heat = self.root.xy_layer(self.root.deconv_layers(features))[:, 0]
        share = heat.flatten(1).softmax(1).reshape(heat.shape)
        x = (share.sum(1) * torch.arange(heat.shape[2], dtype=heat.dtype)).sum(1)
        y = (share.sum(2) * torch.arange(heat.shape[1], dtype=heat.dtype)).sum(1)
        gamma = self.root.depth_layer(features.mean((2, 3), keepdim=True)).flatten()
        return torch.stack([x, y, gamma * k], 1)


def make_model(weights):
    model = RootNet()
    model.load_state_dict(weights)
    return model
)";

}  // namespace

PythonModel rootnet_python(const RootNetConfig& config, int64_t image_size) {
  return {.packages = "torch",
          .code = fmt::format(R"(
# Crops of persons, RGB, each channel less ImageNet's mean and divided by its deviation; k of each.
INPUTS = {{'images': torch.randn(2, 3, {0}, {0}), 'k': torch.ones(2)}}
# x and y on the map of {1} cells a side, and the depth.
OUTPUTS = ['coordinates']
DEPTHS, BOTTLENECKS, WIDTH, DECONV = [{2}], {3}, {4}, {5}
)",
                              image_size, image_size / 4, fmt::join(config.depths, ", "),
                              config.has_bottlenecks ? "True" : "False", config.first_width,
                              config.deconv_channels) +
                  kModules};
}

}  // namespace ffkit
