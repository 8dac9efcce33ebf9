#include "report/metrics_log.h"

#include "report/progress.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

size_t num_event_files(const fs::path& folder) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().filename().string().find("tfevents") != std::string::npos ? 1 : 0;
  }
  return count;
}

constexpr char kTrain10[] =
    R"({"kind":"train","step":10,"epoch":1,"loss":2.5,"lr":0.1,"images_per_second":800.0,"data_wait_share":0.25})"
    "\n";
constexpr char kValidation12[] =
    R"({"kind":"validation","step":12,"epoch":1,"train_loss":2.25,"loss":2.0,"top1":0.5,"top5":0.75,"images":4,"seconds":3.5})"
    "\n";

std::string both_lines() {
  std::string lines = kTrain10;
  lines += kValidation12;
  return lines;
}

void write_both(MetricsLog& log) {
  log.add(TrainMetrics{.step = 10,
                       .epoch = 1,
                       .loss = 2.5,
                       .lr = 0.1,
                       .units_per_second = 800,
                       .data_wait_share = 0.25});
  log.add(ValidationMetrics{
      .step = 12,
      .epoch = 1,
      .train_loss = 2.25,
      .seconds = 3.5,
      .result = {.count = 4, .metrics = {{"loss", 2}, {"top1", 0.5}, {"top5", 0.75}}}});
}

TEST(MetricsLog, WritesALineAtOnce) {
  const testing::TempDir temp;
  MetricsLog log(temp.path(), 0, "images");
  write_both(log);
  EXPECT_EQ(testing::read_file(temp / kMetricsName), both_lines());
  EXPECT_EQ(num_event_files(temp.path()), 1);
}

TEST(MetricsLog, KeepsWhatARunHadDoneAndCutsTheRest) {
  const testing::TempDir temp;
  MetricsLog(temp.path(), 0, "images");
  const auto lines_after_resuming_at = [&](int64_t step, const std::string& before) {
    std::ofstream(temp / kMetricsName) << before;
    const MetricsLog log(temp.path(), step, "images");
    return testing::read_file(temp / kMetricsName);
  };
  const std::string all = both_lines();
  EXPECT_EQ(lines_after_resuming_at(12, all), all);
  EXPECT_EQ(lines_after_resuming_at(11, all), kTrain10);
  EXPECT_EQ(lines_after_resuming_at(0, all), "");
  // A line that was being written when the run was killed, with and without its last character.
  EXPECT_EQ(lines_after_resuming_at(20, all + "{\"kind\":\"tr"), all);
  EXPECT_EQ(lines_after_resuming_at(20, all.substr(0, all.size() - 1)), kTrain10);
  EXPECT_EQ(num_event_files(temp.path()), 6);
  // A run that was killed between the line of a validation and its checkpoint validates again.
  std::ofstream(temp / kMetricsName) << all;
  MetricsLog(temp.path(), 12, "images", /*is_validated=*/false);
  EXPECT_EQ(testing::read_file(temp / kMetricsName), kTrain10);
}

TEST(MetricsLog, SaysWhichFolderIsMissing) {
  const testing::TempDir temp;
  EXPECT_ERROR(MetricsLog(temp / "nowhere", 0, "images"), io);
}

TEST(MetricsWindow, IsTheMeanSinceItWasTaken) {
  MetricsWindow window;
  // Of a GPU's steps the loss comes late.
  window.add_step(8, 0.5, 0.25);
  window.add_step(8, 1.5, 0.25);
  window.add_loss(1);
  window.add_loss(2);
  EXPECT_EQ(window.num_steps(), 2);
  const TrainMetrics m = window.take(7, 3, 0.1);
  EXPECT_EQ(m.step, 7);
  EXPECT_EQ(m.epoch, 3);
  EXPECT_EQ(m.loss, 1.5);
  EXPECT_EQ(m.lr, 0.1);
  EXPECT_EQ(m.units_per_second, 8);
  EXPECT_EQ(m.data_wait_share, 0.25);
  EXPECT_EQ(window.num_steps(), 0);
  window.add_step(1, 1, 0);
  window.add_loss(4);
  EXPECT_EQ(window.take(8, 3, 0.1).loss, 4);
}

TEST(ThroughputMeter, LeavesOutTheFirstSteps) {
  ThroughputMeter meter;
  for (int64_t i = 0; i < ThroughputMeter::kWarmupSteps; ++i) meter.add_step(1, 100, 90);
  EXPECT_EQ(meter.units_per_second(), 0);
  EXPECT_EQ(meter.wait_share(), 0);
  meter.add_step(64, 0.5, 0.1);
  meter.add_step(64, 0.5, 0);
  EXPECT_DOUBLE_EQ(meter.units_per_second(), 128);
  EXPECT_DOUBLE_EQ(meter.wait_share(), 0.1);
}

TEST(Progress, WritesEverythingOnOneLine) {
  EXPECT_EQ(to_string({.epoch = 3,
                       .num_epochs = 15,
                       .step = 120,
                       .num_steps = 156,
                       .loss = 1.43214,
                       .units_per_second = 382.4,
                       .wait_share = 0.003,
                       .seconds_left = 83,
                       .units = "images"}),
            "epoch 3/15  step 120/156  loss 1.4321  382 images/s  data wait 0.3 %  1:23 left");
}

TEST(Progress, LeavesOutWhatIsNotKnownYet) {
  EXPECT_EQ(to_string({.epoch = 1, .num_epochs = 2, .step = 1, .num_steps = 9, .loss = 2}),
            "epoch 1/2  step 1/9  loss 2.0000");
}

TEST(Progress, FormatsDurations) {
  EXPECT_EQ(format_duration(0.2), "0:00");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(7283), "2:01:23");
}

TEST(LiveProgress, ErasesItsLineAndLimitsItsRate) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  const auto num_bytes = [&] {
    std::fseek(file.get(), 0, SEEK_END);
    return std::ftell(file.get());
  };
  LiveProgress live(file.get());
  live.clear();  // nothing shown yet: nothing to erase
  EXPECT_EQ(num_bytes(), 0);
  live.update({.epoch = 1, .num_epochs = 1, .step = 1, .num_steps = 2});
  const long once = num_bytes();
  EXPECT_GT(once, 0);
  live.update({.epoch = 1, .num_epochs = 1, .step = 2, .num_steps = 2});
  EXPECT_EQ(num_bytes(), once);
  live.clear();
  EXPECT_GT(num_bytes(), once);
}

}  // namespace
}  // namespace ffkit
