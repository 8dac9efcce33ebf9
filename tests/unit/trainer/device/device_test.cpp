#include "device/device.h"

#include "trainer_prelude.h"

namespace ffkit {
namespace {

TEST(PrepareDevice, SetsHowKernelsAreChosen) {
  TrainOptions o;
  o.device = "cpu";
  for (const bool deterministic : {true, false}) {
    o.deterministic = deterministic;
    EXPECT_EQ(prepare_device(o, {}).type(), c10::kCPU);
    EXPECT_EQ(at::globalContext().deterministicAlgorithms(), deterministic);
    EXPECT_EQ(at::globalContext().deterministicCuDNN(), deterministic);
    EXPECT_EQ(at::globalContext().benchmarkCuDNN(), !deterministic);
  }
}

TEST(PrepareDevice, NamesTheDevicesThatThereAre) {
  TrainOptions o;
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", ""}) {
    o.device = name;
    EXPECT_ERROR(prepare_device(o, {}), invalid_argument);
  }
}

TEST(TorchErrors, SayWhichOperatorIsNotDeterministic) {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  EXPECT_ERROR(
      with_torch_errors([&] { context.alertNotDeterministic("grid_sampler_2d_backward_cuda"); }),
      unsupported);
  context.setDeterministicAlgorithms(false, /*warn_only=*/false);
}

constexpr char kAnswerVariable[] = "FFKIT_TEST_ANSWER_FILE";

void something_here() {}

fs::path own_folder() {
  return library_folder(reinterpret_cast<const void*>(&something_here));
}

TEST(LibraryFolder, IsTheLibrarysForCodeInOne) {
  const fs::path folder = library_folder(reinterpret_cast<const void*>(&std::printf));
  EXPECT_TRUE(folder.is_absolute()) << folder;
  EXPECT_TRUE(library_folder(&kAnswerVariable) == own_folder());
  int local = 0;
  EXPECT_TRUE(library_folder(&local).empty());
}

// Not a test of its own: what the next one runs.
TEST(LibraryFolder, DISABLED_Answers) {
  if (const char* answer = std::getenv(kAnswerVariable))
    std::ofstream(answer) << own_folder().string();
}

TEST(LibraryFolder, IsTheProgramsWhenItIsStartedThroughPath) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const testing::TempDir temp;
  const std::string command = "cd '" + temp.path().string() + "' && PATH='" +
                              program.parent_path().string() + "':\"$PATH\" " + kAnswerVariable +
                              "=answer " + program.filename().string() +
                              " --gtest_also_run_disabled_tests"
                              " --gtest_filter=LibraryFolder.DISABLED_Answers >output";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(temp.path() / "answer");
  const std::string answer{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(fs::path(answer), program.parent_path());
}

}  // namespace

}  // namespace ffkit
