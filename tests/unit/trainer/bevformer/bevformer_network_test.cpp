#include "tasks/bevformer/network/bevformer_network.h"

#include <ATen/CPUGeneratorImpl.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

BevFormerConfig tiny_config() {
  BevFormerConfig config;
  config.embed_dims = 16;
  config.ffn_dims = 16;
  config.num_heads = 2;
  config.bev_rows = 5;
  config.bev_columns = 4;
  config.num_queries = 7;
  config.encoder_layers = 2;
  config.decoder_layers = 2;
  config.num_cameras = 2;
  config.camera_points = 4;
  config.backbone_stages = {2, 3};
  config.pyramid_levels = 3;
  config.rotation_center = {2, 2};
  return config;
}

// Cameras that look along x and against it.
BevFrame some_frame(int64_t batch, const std::vector<bool>& has_previous) {
  at::Tensor matrices = at::zeros({batch, 2, 4, 4}, at::kDouble);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t c = 0; c < 2; ++c) {
      const double sign = c == 0 ? 1 : -1;
      at::Tensor m = matrices[b][c];
      m[0][0] = sign * 32;
      m[0][1] = -32;
      m[1][0] = sign * 16;
      m[1][2] = -16.0 - double(b);
      m[2][0] = sign;
      m[3][3] = 1;
    }
  }
  at::Tensor can_bus = at::randn({batch, 18}, at::kDouble);
  at::Tensor flags = at::zeros({batch}, at::kBool);
  for (int64_t b = 0; b < batch; ++b) flags[b] = bool(has_previous[static_cast<size_t>(b)]);
  return {.images = at::randn({batch, 2, 3, 32, 64}),
          .lidar2img = matrices,
          .can_bus = can_bus,
          .has_previous = flags};
}

BevFrame sample(const BevFrame& frame, int64_t b) {
  return {.images = frame.images.narrow(0, b, 1),
          .lidar2img = frame.lidar2img.narrow(0, b, 1),
          .can_bus = frame.can_bus.narrow(0, b, 1),
          .has_previous = frame.has_previous.narrow(0, b, 1)};
}

void seed(uint64_t number) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  generator.set_current_seed(number);
}

class BevFormer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    seed(3);
    network_ = std::make_shared<BevFormerNetwork>(tiny_config());
  }
  static void TearDownTestSuite() { network_.reset(); }
  void SetUp() override { seed(4); }

  static std::shared_ptr<BevFormerNetwork> network_;
};
std::shared_ptr<BevFormerNetwork> BevFormer::network_;

// One sample has a frame before, the other one begins a scene.
TEST_F(BevFormer, ABatchIsItsSamples) {
  const at::NoGradGuard no_grad;
  network_->train(false);
  const std::vector<BevFrame> frames = {some_frame(2, {false, false}), some_frame(2, {true, false}),
                                        some_frame(2, {true, true})};
  const BevDetections both = network_->forward(frames);
  for (int64_t b = 0; b < 2; ++b) {
    std::vector<BevFrame> own;
    for (const BevFrame& frame : frames) own.push_back(sample(frame, b));
    const BevDetections alone = network_->forward(own);
    EXPECT_TRUE(at::allclose(both.bev.narrow(0, b, 1), alone.bev, 1e-4, 1e-5)) << b;
    EXPECT_TRUE(at::allclose(both.logits.narrow(1, b, 1), alone.logits, 1e-4, 1e-4)) << b;
    EXPECT_TRUE(at::allclose(both.boxes.narrow(1, b, 1), alone.boxes, 1e-4, 1e-3)) << b;
  }
}

TEST_F(BevFormer, AWindowIsItsFramesOneAfterTheOther) {
  const at::NoGradGuard no_grad;
  network_->train(false);
  const std::vector<BevFrame> frames = {some_frame(1, {false}), some_frame(1, {true})};
  const BevDetections first = network_->detect(frames[0], {});
  EXPECT_TRUE(
      at::equal(network_->detect(frames[1], first.bev).boxes, network_->forward(frames).boxes));
  // The BEV of before matters, unless the frame begins a scene.
  EXPECT_FALSE(at::allclose(network_->detect(frames[1], {}).bev,
                            network_->detect(frames[1], first.bev).bev));
  BevFrame beginning = frames[1];
  beginning.has_previous = at::zeros({1}, at::kBool);
  EXPECT_TRUE(
      at::equal(network_->detect(beginning, first.bev).bev, network_->detect(beginning, {}).bev));
}

TEST_F(BevFormer, HistoryHasNoDropoutAndNoGradient) {
  network_->train(true);
  const std::vector<BevFrame> frames = {some_frame(1, {false}), some_frame(1, {true})};
  std::map<std::string, at::Tensor> first, second;
  const auto into = [](std::map<std::string, at::Tensor>& seen) {
    return [&seen](const std::string& name, const at::Tensor& value) { seen[name] = value; };
  };
  network_->forward(frames, into(first));
  network_->forward(frames, into(second));
  EXPECT_TRUE(at::equal(first["prev_bev"], second["prev_bev"]));
  EXPECT_FALSE(first["prev_bev"].requires_grad());
  EXPECT_FALSE(at::equal(first["bev_embed"], second["bev_embed"]));  // dropout
  EXPECT_TRUE(network_->is_training());
}

TEST_F(BevFormer, TheBackbonesNormsAndFirstStageAreNotTrained) {
  network_->train(true);
  std::map<std::string, at::Tensor> before;
  for (const auto& item : network_->named_buffers()) before[item.key()] = item.value().clone();
  const BevDetections out = network_->forward({some_frame(1, {false})});
  (out.logits.sum() + out.boxes.sum()).backward();
  for (const auto& item : network_->named_buffers()) {
    EXPECT_TRUE(at::equal(item.value(), before[item.key()])) << item.key();
  }
  for (const auto& item : network_->named_parameters()) {
    const std::string& name = item.key();
    const bool is_backbone = name.starts_with("img_backbone.");
    const bool is_frozen =
        name.ends_with("code_weights") ||
        (is_backbone && (item.value().dim() == 1 || name.starts_with("img_backbone.conv1") ||
                         name.starts_with("img_backbone.layer1.")));
    EXPECT_EQ(item.value().requires_grad(), !is_frozen) << name;
    EXPECT_EQ(item.value().grad().defined(), !is_frozen) << name;
  }
}

TEST_F(BevFormer, AtFirstEveryClassIsUnlikely) {
  const at::NoGradGuard no_grad;
  network_->train(false);
  const at::Tensor p = network_->forward({some_frame(1, {false})}).logits.sigmoid();
  EXPECT_LT(p.mean().item<double>(), 0.1);
}

TEST_F(BevFormer, InputsThatDoNotFitAreRefused) {
  BevFrame frame = some_frame(1, {false});
  frame.images = frame.images.narrow(1, 0, 1);
  EXPECT_THROW(network_->forward({frame}), Error);
  frame = some_frame(1, {false});
  frame.lidar2img = frame.lidar2img.narrow(2, 0, 3);
  EXPECT_THROW(network_->forward({frame}), Error);
  frame = some_frame(1, {false});
  frame.can_bus = frame.can_bus.narrow(1, 0, 17);
  EXPECT_THROW(network_->forward({frame}), Error);
  EXPECT_THROW(network_->forward({}), Error);
}

// Counted from the published configurations: ResNet-101 with deformable convolutions, four levels,
// six layers each.
TEST(BevFormerConfig, PublishedSizesHaveTheirParts) {
  const BevFormerConfig base = bevformer_config("base");
  EXPECT_EQ(base.encoder_layers, 6);
  EXPECT_EQ(base.pyramid_levels, 4);
  const BevFormerNetwork network(base);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& item : network.named_parameters()) tensors[item.key()] = item.value();
  EXPECT_EQ(tensors.at("pts_bbox_head.bev_embedding.weight").sizes(),
            (at::IntArrayRef{200 * 200, 256}));
  EXPECT_EQ(tensors.at("img_backbone.layer3.22.conv2.conv_offset.weight").sizes(),
            (at::IntArrayRef{27, 256, 3, 3}));
  EXPECT_EQ(tensors.at("img_backbone.layer3.22.conv2.weight").sizes(),
            (at::IntArrayRef{256, 256, 3, 3}));
  EXPECT_EQ(tensors.at("img_backbone.layer3.22.conv2.conv_offset.bias").abs().sum().item<double>(),
            0);
  EXPECT_EQ(tensors.count("img_backbone.layer2.0.conv2.conv_offset.weight"), 0U);
  EXPECT_EQ(tensors.at("img_neck.fpn_convs.3.conv.weight").sizes(),
            (at::IntArrayRef{256, 256, 3, 3}));
  EXPECT_EQ(bevformer_config("small").bev_rows, 150);
  EXPECT_EQ(bevformer_config("tiny").bev_rows, 50);
  EXPECT_THROW(bevformer_config("large"), Error);
}

TEST(BevFormerConfig, SizesThatDoNotFitTogetherAreRefused) {
  const auto refuses = [](const auto& change) {
    BevFormerConfig config = tiny_config();
    change(config);
    EXPECT_THROW(BevFormerNetwork{config}, Error);
  };
  refuses([](BevFormerConfig& c) { c.num_heads = 3; });
  refuses([](BevFormerConfig& c) { c.camera_points = 5; });
  refuses([](BevFormerConfig& c) { c.backbone = "resnet34"; });
  refuses([](BevFormerConfig& c) { c.pyramid_levels = 1; });
  refuses([](BevFormerConfig& c) { c.backbone_stages = {3, 2}; });
  refuses([](BevFormerConfig& c) { c.code_weights = {1}; });
}

}  // namespace
}  // namespace ffkit
