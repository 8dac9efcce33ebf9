// RootNet (Moon et al., 2019): a person's root joint in three dimensions from a crop.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/pose/person_record.h>
#include <ffkit/pose/root_truth.h>
#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/module_model.h>
#include <ffkit/trainer/rootnet.h>
#include <ffkit/trainer/task.h>
#include <ffkit/trainer/task_registry.h>

#include "base/make_error.h"
#include "checkpoint/weights.h"
#include "tasks/rootnet/data/rootnet_data.h"
#include "tasks/rootnet/network/rootnet_network.h"

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

constexpr std::array kRootMetrics = {"mrpe", "mrpe_x", "mrpe_y", "mrpe_z", "ap"};
constexpr int64_t kNumRootMetrics = kRootMetrics.size();
constexpr int64_t kRootColumns = 4;
// What became of an evaluation; 0: it failed.
constexpr double kEvaluated = 1, kDiverged = 2;

// "mrpe", its parts "mrpe_x", "mrpe_y" and "mrpe_z", and "ap"; a split has those that its truth
// allows.
std::vector<MetricInfo> root_metrics() {
  return {{.name = "mrpe", .title = "MRPE", .digits = 1},
          {.name = "mrpe_x", .title = "x", .digits = 1},
          {.name = "mrpe_y", .title = "y", .digits = 1},
          {.name = "mrpe_z", .title = "z", .digits = 1},
          {.name = "ap", .title = "AP", .scale = 100, .digits = 2, .unit = "%"}};
}

// Roots of a split's persons, MRPE and AP.
class RootNetEvaluation final : public Evaluation {
 public:
  // `network` and `split` outlive this. `map_side`: cells of the network's map.
  RootNetEvaluation(RootNetNetwork& network, const Dataset& split, int64_t map_side,
                    double ap_threshold)
      : network_(network),
        split_(split),
        map_side_(static_cast<double>(map_side)),
        ap_threshold_(ap_threshold) {}

  void add(const DeviceBatch& batch) override {
    const BatchTarget target = target_of(batch);
    const at::Tensor coordinates =
        network_.forward(network_input(batch), target.k).to(at::kCPU, at::kDouble);
    const at::Tensor numbers = at::tensor(batch.record_indices, at::kLong).to(at::kDouble);
    rows_.push_back(at::cat({numbers.unsqueeze(1), coordinates}, 1));
  }

  EvalResult finish(Peers& peers) override {
    rows_.insert(rows_.begin(), at::zeros({0, kRootColumns}, at::kDouble));
    const at::Tensor rows = at::cat(peers.gather_rows(at::cat(rows_)));
    // Rank 0 computes for all; the last number says whether it could.
    at::Tensor sums = at::zeros({2 * kNumRootMetrics + 1}, at::kDouble);
    std::exception_ptr error;
    if (peers.rank() == 0 && rows.size(0) > 0) {
      try {
        sums[-1] = kEvaluated;
        evaluate(rows, sums);
      } catch (const std::exception&) {
        sums[-1] = 0;
        error = std::current_exception();
      }
    }
    peers.sum(sums);
    if (error) std::rethrow_exception(error);
    if (sums[-1].item<double>() == 0) {
      throw dataset_error(split_.path(), ErrorCode::invalid_argument,
                          rows.size(0) == 0
                              ? "no person was validated; give another " + option_name("val_split")
                              : "rank 0 could not compute the metric; see its message");
    }
    EvalResult result{.count = rows.size(0), .metrics = {}};
    if (sums[-1].item<double>() == kDiverged) {
      result.diverged = "the coordinates that the network finds are not finite";
      return result;
    }
    for (int64_t i = 0; i < kNumRootMetrics; ++i) {
      if (sums[kNumRootMetrics + i].item<double>() == 0) continue;
      result.metrics.emplace_back(kRootMetrics[i], sums[i].item<double>());
    }
    if (result.metrics.empty()) {
      result.no_metrics =
          fmt::format("{} has no person with a known depth", split_.path().string());
    }
    return result;
  }

  void write_results(const std::filesystem::path& file) override {
    pose::write_root_results(file, truth_, found_);
  }

 private:
  // Fills found_ from all rows, and `sums` with the metrics' values and, behind them, 1 for each
  // that there is.
  void evaluate(const at::Tensor& rows, at::Tensor& sums) {
    const auto* row = rows.const_data_ptr<double>();
    std::vector<const double*> in_order;
    for (int64_t i = 0; i < rows.size(0); ++i) in_order.push_back(row + kRootColumns * i);
    std::ranges::sort(in_order, {}, [](const double* r) { return r[0]; });
    std::vector<int64_t> records;
    for (const double* r : in_order) records.push_back(static_cast<int64_t>(r[0]));
    truth_ = pose::read_root_truth(split_.subset(records));
    for (size_t i = 0; i < in_order.size(); ++i) {
      const double* r = in_order[i];
      const pose::RootPerson& person = truth_.persons[i];
      found_.push_back(
          pose::root_of_map({r[1], r[2], r[3]}, person.box, person.camera, map_side_, map_side_));
      for (const double number : found_.back()) {
        if (std::isfinite(number)) continue;
        sums[-1] = kDiverged;
        return;
      }
    }
    const pose::RootEvaluation figures = pose::evaluate_roots(truth_, found_, ap_threshold_);
    auto* out = sums.mutable_data_ptr<double>();
    const auto put = [&](int64_t metric, double value) {
      out[metric] = value;
      out[kNumRootMetrics + metric] = 1;
    };
    if (figures.error) {
      put(0, figures.error->total);
      put(1, figures.error->x);
      put(2, figures.error->y);
      put(3, figures.error->z);
    }
    if (figures.average_precision) put(4, *figures.average_precision);
  }

  RootNetNetwork& network_;
  const Dataset& split_;
  const double map_side_, ap_threshold_;
  std::vector<at::Tensor> rows_;  // [N,4] f64 each: number of the record, x, y and depth
  pose::RootTruth truth_;         // of the records that were seen, on rank 0
  std::vector<pose::Point3> found_;
};

class RootNetTask final : public Task {
 public:
  explicit RootNetTask(TaskSetting setting)
      : Task(std::move(setting)), config_(rootnet_config(own().arch)) {}

  void open() override { train_ = open_training_persons(options(), own().train_split); }
  std::string fingerprint() const override { return train_ ? train_->fingerprint() : ""; }
  std::string misfit(const TrainOptions& stored, const TaskFacts& /*facts*/) const override {
    const std::string& other = rootnet(stored).arch;
    if (other == own().arch) return {};
    return fmt::format("the checkpoint has the arch {}, but this run has the arch {}", other,
                       own().arch);
  }

  std::unique_ptr<BatchSource> training_batches(int64_t /*epoch*/) override {
    require_a_step(options(), *train_);
    return std::make_unique<LoaderSource>(
        *train_,
        person_loader_options(options(), setting().place, setting().device, train_->schema(), true),
        options().limit_batches * options().accumulate, setting().device);
  }
  std::unique_ptr<BatchSource> validation_batches() override;
  DeviceBatch noise() override;
  std::vector<std::string> notes() const override {
    return train_ ? mixture_notes(options(), *train_, val_ ? &*val_ : nullptr)
                  : std::vector<std::string>();
  }

  Model& make_model() override {
    network_ = std::make_shared<RootNetNetwork>(config_);
    model_ = std::make_unique<ModuleModel>(network_);
    model_->use_channels_last();
    return *model_;
  }
  void load_initial_weights() override {
    if (own().backbone_weights.empty()) return;
    ModuleModel backbone(network_->backbone());
    weight_notes_ = load_backbone(own().backbone_weights, options().weights_key,
                                  "RootNet with " + own().arch, backbone);
  }
  std::vector<std::string> weight_notes() const override { return weight_notes_; }
  WeightRules weight_rules() const override {
    return {.name = "RootNet with " + own().arch, .choice = option_name("arch")};
  }

  at::Tensor loss(const DeviceBatch& batch) override {
    const BatchTarget target = target_of(batch);
    return rootnet_losses(network_->forward(network_input(batch), target.k), target.coordinates,
                          target.visible, target.have_depth)
        .mean();
  }
  at::Tensor forward(const DeviceBatch& batch) override {
    return network_->forward(network_input(batch), target_of(batch).k);
  }
  std::unique_ptr<Evaluation> evaluation() override {
    return std::make_unique<RootNetEvaluation>(*network_, *val_, own().resolved_image_size() / 4,
                                               own().ap_threshold);
  }

 private:
  const RootNetOptions& own() const { return rootnet(options()); }

  const RootNetConfig config_;
  std::optional<Dataset> train_, val_;
  std::shared_ptr<RootNetNetwork> network_;
  std::vector<std::string> weight_notes_;
  std::unique_ptr<ModuleModel> model_;
};

std::unique_ptr<BatchSource> RootNetTask::validation_batches() {
  val_ = open_validation_persons(options(), own().val_split);
  // Said before a training begins; an evaluation may write results without a metric.
  if (train_) {
    const std::vector<int64_t> depths = val_->int_column(pose::person::kHasDepth);
    if (std::ranges::find(depths, 1) == depths.end()) {
      throw dataset_error(val_->path(), ErrorCode::invalid_argument,
                          "has no person with a known depth for a validation; give another {}",
                          option_name("val_split"));
    }
  }
  return std::make_unique<LoaderSource>(
      *val_,
      person_loader_options(options(), setting().place, setting().device, val_->schema(), false),
      options().limit_batches, setting().device);
}

DeviceBatch RootNetTask::noise() {
  const int64_t size = own().resolved_image_size();
  const int64_t count = options().batch_size;
  const at::Generator generator = at::detail::createCPUGenerator(options().seed);
  const at::Tensor crops = at::randint(0, 256, {count, size, size, 3}, generator, at::kByte);
  const auto middle = static_cast<float>(size) / 8;
  const at::Tensor target =
      at::tensor({middle, middle, 4000.0F, 1.0F, 1.0F, 4000.0F, 1.0F, 1.0F, 1.0F}, at::kFloat)
          .repeat({count, 1});
  return {.size = count,
          .fields = {{.name = "crop", .values = crops.to(setting().device)},
                     {.name = "target", .values = target.to(setting().device)}}};
}

}  // namespace

void register_rootnet_task(TaskRegistry& registry) {
  registry.add(
      {.name = "rootnet",
       .summary = "a person's root joint in three dimensions from a crop, on records of persons",
       .samples = "persons",
       .units = "persons",
       .metrics = root_metrics(),
       .best = "mrpe",
       .is_lower_better = true,
       .results = "roots as RootNet's bbox_root_*_output.json",
       .result_endings = {".json"},
       .misfit = rootnet_misfit,
       .make =
           [](TaskSetting setting) { return std::make_unique<RootNetTask>(std::move(setting)); },
       .python_model =
           [](const TrainOptions& options, const TaskFacts& /*facts*/) {
             const RootNetOptions& own = rootnet(options);
             return rootnet_python(rootnet_config(own.arch), own.resolved_image_size());
           },
       .make_options = [] { return std::make_unique<RootNetOptions>(); }});
}

}  // namespace ffkit
