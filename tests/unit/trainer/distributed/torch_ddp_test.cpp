// Two processes that train together against Python: torchvision's model under torch's
// DistributedDataParallel over Gloo, with the same weights and the same batches. (SGD is the fused
// one there too: the loop over single tensors rounds the last few numbers of a tensor another way,
// and batch norm makes 1e-2 of the last bit within ten steps.)
#include <ffkit/trainer/classification.h>
#include <ffkit/trainer/task.h>

#include "checkpoint/checkpoint.h"
#include "files/pth.h"
#include "optim/optimizer.h"
#include "reference_python.h"
#include "step/training_step.h"
#include "support/synthetic_dataset.h"
#include "support/world.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

constexpr int kSteps = 20;
constexpr int kRanks = 2;

constexpr char kDdpScript[] = R"(
import torch, torchvision, torch.distributed as dist, torch.multiprocessing as mp

def worker(rank):
    torch.set_num_threads(1)
    dist.init_process_group('gloo', init_method='file://' + FOLDER + '/python_store', rank=rank, world_size=2)
    model = torchvision.models.resnet18(num_classes=3)
    model.load_state_dict(torch.load('weights.pth', weights_only=True))
    model = torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9, weight_decay=1e-4, fused=True)
    images = torch.from_file(f'images{rank}', size=20 * N * 3 * SIDE * SIDE).view(20, N, 3, SIDE, SIDE)
    labels = torch.from_file(f'labels{rank}', size=20 * N, dtype=torch.int64).view(20, N)
    losses = torch.zeros(20, dtype=torch.float64)
    for step in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images[step]), labels[step])
        loss.backward()
        optimizer.step()
        losses[step] = loss.item()
    dist.all_reduce(losses)
    if rank == 0: open('losses', 'w').write(' '.join(map(str, (losses / 2).tolist())))

if __name__ == '__main__':
    mp.spawn(worker, nprocs=2)
)";

TrainOptions options_for(const std::filesystem::path& data) {
  TrainOptions options;
  options.data = data;
  classification(options).arch = "resnet18";
  classification(options).image_size = 48;
  options.batch_size = 8;
  options.lr = 0.001;
  options.momentum = 0.9;
  options.weight_decay = 1e-4;
  options.compute_threads = 1;
  options.num_threads = 1;
  classification(options).channels_last = false;
  return options;
}

struct Training {
  std::vector<double> losses = std::vector<double>(kSteps);  // means over all ranks
  double spread = 0;  // sum of what the ranks' parameters differ by in the end
};

// Trains; the weights at the beginning and all batches go into `folder`.
Training run_training(const TrainOptions& given, const std::filesystem::path& folder) {
  Training out;
  testing::run_world(kRanks, [&](Communicator& c) {
    const TrainOptions options = given.resolved(kRanks);
    ProcessPlace place;
    place.rank = c.rank();
    place.world_size = kRanks;
    const std::unique_ptr<Task> task =
        TaskRegistry::instance().find("classification").make({.options = options, .place = place});
    task->open();
    const std::unique_ptr<BatchSource> data = task->training_batches(0);
    Model* model = nullptr;
    {  // libtorch's seed is the process's, and the ranks are threads here
      static std::mutex mutex;
      const std::lock_guard lock(mutex);
      model = &make_model(*task, options, c);
    }
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(options, *model);
    TrainingStep step(options, *task, *model, *optimizer, c);
    if (c.rank() == 0) {
      std::vector<NamedTensor> weights = model->parameters();
      for (const NamedTensor& b : model->buffers()) weights.push_back(b);
      write_pth(folder / "weights.pth", weights);
    }
    std::ofstream images(folder / fmt::format("images{}", c.rank()), std::ios::binary);
    std::ofstream labels(folder / fmt::format("labels{}", c.rank()), std::ios::binary);
    data->set_epoch(0);
    for (int i = 0; i < kSteps; ++i) {
      const std::optional<DeviceBatch> batch = data->next();
      ASSERT_TRUE(batch);
      images.write(static_cast<const char*>(batch->field("image").const_data_ptr()),
                   static_cast<std::streamsize>(batch->field("image").nbytes()));
      labels.write(static_cast<const char*>(batch->field("label").const_data_ptr()),
                   static_cast<std::streamsize>(batch->field("label").nbytes()));
      step.begin(i);
      step.add(*batch, true);
      const double sum = c.sum(std::vector<double>{step.end(options.lr).item<double>()})[0];
      if (c.rank() == 0) out.losses[size_t(i)] = sum / kRanks;
    }
    double spread = 0;
    for (const NamedTensor& p : model->parameters()) {
      const std::vector<at::Tensor> all = c.all_gather(p.tensor.detach().contiguous());
      spread += (all[0] - all[1]).abs().sum().item<double>();
    }
    if (c.rank() == 0) out.spread = spread;
  });
  return out;
}

TEST(TorchDdp, ParametersStayTheSameToTheBitOnAllRanks) {
  const testing::TempDir temp;
  testing::write_synthetic_dataset(temp / "data", {.num_train = 16 * kSteps});
  const Training training = run_training(options_for(temp / "data"), temp.path());
  EXPECT_EQ(training.spread, 0);
  EXPECT_LT(training.losses.back(), training.losses.front());  // they have changed
}

TEST(TorchDdp, LossesArePythons) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir temp;
  testing::write_synthetic_dataset(temp / "data", {.num_train = 16 * kSteps});
  const TrainOptions options = options_for(temp / "data");
  const Training training = run_training(options, temp.path());
  const std::string constants =
      fmt::format("FOLDER, LR, N, SIDE = '{}', {}, {}, {}\n", temp.path().string(), options.lr,
                  options.batch_size, classification(options).image_size);
  ASSERT_TRUE(testing::run_python(constants + kDdpScript, temp.path()));
  std::ifstream in(temp / "losses");
  double worst = 0;
  for (int i = 0; i < kSteps; ++i) {
    double expected = 0;
    ASSERT_TRUE(in >> expected);
    worst = std::max(worst, std::abs(expected - training.losses[size_t(i)]));
    EXPECT_NEAR(training.losses[size_t(i)], expected, 1e-4) << "step " << i;
  }
  fmt::print("largest difference in loss: {:.3g}\n", worst);
}

}  // namespace
}  // namespace ffkit
