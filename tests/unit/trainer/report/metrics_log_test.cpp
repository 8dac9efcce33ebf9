#include "report/metrics_log.h"

#include <gtest/gtest.h>

#include <fstream>

#include "expect_error.h"
#include "temp_dir.h"
#include "text_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

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

}  // namespace
}  // namespace ffkit
