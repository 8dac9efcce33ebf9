#include "launch/gpus.h"

#include "given_environment.h"
#include "launch/launchers.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::environment_of;
using testing::GivenVariables;
using Names = std::vector<std::string>;

// A machine as /proc, /dev and /sys show it.
class GpuSearchTest : public ::testing::Test {
 protected:
  fs::path root() const { return temp_.path(); }
  void add_to_driver(const std::string& address) const {
    fs::create_directories(root() / "proc/driver/nvidia/gpus" / address);
  }
  void add_device(const std::string& name) const { write("dev/" + name, ""); }
  void add_to_bus(const std::string& vendor, const std::string& kind) const {
    write("sys/bus/pci/devices/0000:01:00.0/vendor", vendor + "\n");
    write("sys/bus/pci/devices/0000:01:00.0/class", kind + "\n");
  }

 private:
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text;
  }

  testing::TempDir temp_;
};

TEST_F(GpuSearchTest, FindsWhatTheDriverListsAndTheVariableLeaves) {
  EXPECT_EQ(gpu_addresses(environment_of({}), root()), Names{});
  add_to_driver("0000:02:00.0");
  add_to_driver("0000:01:00.0");
  add_device("nvidia0");
  EXPECT_EQ(gpu_addresses(environment_of({}), root()), (Names{"0000:01:00.0", "0000:02:00.0"}));
  const auto visible = [&](const std::string& value) {
    return gpu_addresses(environment_of({{"CUDA_VISIBLE_DEVICES", value}}), root());
  };
  EXPECT_EQ(visible("1,0"), (Names{"0000:02:00.0", "0000:01:00.0"}));
  EXPECT_EQ(visible("1,7,0"), (Names{"0000:02:00.0"}));
  EXPECT_EQ(visible("GPU-5f0c"), (Names{""}));
  EXPECT_EQ(visible(""), Names{});
  EXPECT_EQ(visible("-1"), Names{});
}

TEST_F(GpuSearchTest, CountsDevicesWhereTheDriversFolderIsNotMounted) {
  for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"})
    add_device(name);
  EXPECT_EQ(gpu_addresses(environment_of({}), root()).size(), 2U);
}

TEST_F(GpuSearchTest, SaysWhyAGpuCannotBeUsed) {
  EXPECT_EQ(why_no_gpu(environment_of({}), root()), "");
  EXPECT_NE(why_no_gpu(environment_of({{"CUDA_VISIBLE_DEVICES", "0"}}), root()), "");
  add_to_bus("0x8086", "0x030000");
  EXPECT_EQ(why_no_gpu(environment_of({}), root()), "") << "another maker's";
  add_to_bus("0x10de", "0x040300");
  EXPECT_EQ(why_no_gpu(environment_of({}), root()), "") << "the sound of a GPU";
  add_to_bus("0x10de", "0x030200");
  EXPECT_NE(why_no_gpu(environment_of({}), root()).find("load the driver"), std::string::npos);
  EXPECT_EQ(why_no_gpu(environment_of({{"CUDA_VISIBLE_DEVICES", ""}}), root()), "");
  EXPECT_EQ(why_no_gpu(environment_of({{"CUDA_VISIBLE_DEVICES", "-1"}}), root()), "");
  add_to_driver("0000:01:00.0");
  EXPECT_NE(why_no_gpu(environment_of({}), root()), "");
  EXPECT_NE(why_no_gpu(environment_of({{"CUDA_VISIBLE_DEVICES", "3"}}), root())
                .find("is '3', but there is no such GPU"),
            std::string::npos);
}

TEST_F(GpuSearchTest, GivesEachProcessItsOwn) {
  const ProcessPlace second{.local_rank = 1, .local_world_size = 2, .launcher = Launcher::slurm};
  EXPECT_EQ(gpu_of_rank(second, 2, environment_of({}), root()), 1);
  // Shown to it alone: by the variable, or by hiding the other devices of the machine.
  EXPECT_EQ(gpu_of_rank(second, 1, environment_of({{"CUDA_VISIBLE_DEVICES", "1"}}), root()), 0);
  add_to_driver("0000:01:00.0");
  EXPECT_ERROR(gpu_of_rank(second, 1, environment_of({}), root()), not_found);
  add_to_driver("0000:02:00.0");
  EXPECT_EQ(gpu_of_rank(second, 1, environment_of({}), root()), 0);
  EXPECT_ERROR(gpu_of_rank({.local_rank = 2, .local_world_size = 3}, 2, environment_of({}), root()),
               not_found);
  // Processes that fftrain or torchrun started see the same one.
  const ProcessPlace third{.local_rank = 1, .local_world_size = 2, .launcher = Launcher::torchrun};
  EXPECT_ERROR(gpu_of_rank(third, 1, environment_of({}), root()), not_found);
  EXPECT_ERROR(
      gpu_of_rank(third, 1,
                  environment_of({{"CUDA_VISIBLE_DEVICES", "1"}, {kStartedVariable, "1"}}), root()),
      not_found);
}

TEST(EnvironmentSeeing, HidesTheGpusThatTheDeviceLeavesOut) {
  const auto visible = [](const std::string& device, const GivenVariables& variables) {
    return environment_seeing(device, environment_of(variables))("CUDA_VISIBLE_DEVICES");
  };
  EXPECT_EQ(visible("auto", {}), std::nullopt);
  EXPECT_EQ(visible("cuda", {{"CUDA_VISIBLE_DEVICES", "3,4"}}), "3,4");
  EXPECT_EQ(visible("cpu", {{"CUDA_VISIBLE_DEVICES", "3,4"}}), "");
  EXPECT_EQ(visible("cuda:1", {}), "1");
  EXPECT_EQ(visible("cuda:1", {{"CUDA_VISIBLE_DEVICES", "3,4"}}), "4");
  EXPECT_EQ(visible("cuda:2", {{"CUDA_VISIBLE_DEVICES", "3,4"}}), "");
  EXPECT_EQ(environment_seeing("cpu", environment_of({{"RANK", "2"}}))("RANK"), "2");
  // What it is for: one process, not one for each GPU.
  const Environment two = environment_of({{"CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b"}});
  EXPECT_EQ(plan_launch({}, two).num_processes, 2);
  EXPECT_EQ(plan_launch({}, environment_seeing("cpu", two)).num_processes, 0);
  EXPECT_EQ(plan_launch({}, environment_seeing("cuda:1", two)).num_processes, 0);
}

}  // namespace
}  // namespace ffkit
