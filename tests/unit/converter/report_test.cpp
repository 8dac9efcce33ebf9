#include "pack/report.h"

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/progress_bar.h>

#include "test_prelude.h"

namespace ffkit {
namespace {

std::vector<ReportLine> lines_of(std::string_view report) {
  std::vector<ReportLine> lines;
  for_report_lines(report, [&](const ReportLine& line, std::string_view text) {
    EXPECT_EQ(to_text(line), text);
    lines.push_back(line);
  });
  return lines;
}

TEST(Report, ComesBackAsItWasWhateverIsInIt) {
  const std::vector<ReportLine> written = {
      {"train", "a.tar: x.JPEG", {"is a CMYK JPEG", "re-encoded"}},
      {"va\"l", R"(p","action":"left out"})", {"is\nodd \\", kKeptAsItIs, "camera_front"}},
      {"train", "corpus.txt", {R"(has ","count":7,"action":"x"})", kBytesReplaced, "", 12}},
      {"", "", {"", ""}}};
  std::string report;
  for (const ReportLine& line : written) report += to_text(line);
  const std::vector<ReportLine> read = lines_of(report);
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].split, written[i].split);
    EXPECT_EQ(read[i].source, written[i].source);
    EXPECT_EQ(read[i].problem.reason, written[i].problem.reason);
    EXPECT_EQ(read[i].problem.action, written[i].problem.action);
    EXPECT_EQ(read[i].problem.picture, written[i].problem.picture);
    EXPECT_EQ(read[i].problem.count, written[i].problem.count);
  }
}

TEST(Report, NamesThatAreNotUtf8AreEscapedByTheStandardCharacter) {
  const std::string text = to_text(ReportLine{"train", "caf\xe9.jpg", {"is cut", kSampleLeftOut}});
  EXPECT_EQ(text,
            "{\"split\":\"train\",\"source\":\"caf\xef\xbf\xbd.jpg\",\"reason\":\"is cut\","
            "\"action\":\"left out\"}\n");
  EXPECT_EQ(lines_of(text).size(), 1U);
}

TEST(Report, OtherLinesAreNone) {
  for (const char* text : {"", "\n", "{}\n", "[]", "nothing\n\n", R"({"split":1,"source":"a"})",
                           R"({"split":"a","source":"b","reason":"c"})", R"({"split":"a")"}) {
    EXPECT_TRUE(lines_of(text).empty()) << text;
  }
  EXPECT_EQ(lines_of("x\n" + to_text(ReportLine{"a", "b", {"c", "d"}}) + "y").size(), 1U);
}

TEST(Report, IsCountedByWhatItsLinesSay) {
  ReportCounts counts;
  const auto add = [&](SampleProblem problem) { counts.add({"train", "x", std::move(problem)}); };
  add({"is progressive", kKeptWithoutDct});
  add({"is progressive", kKeptWithoutDct});
  add({"is damaged or cut", kKeptWithoutDct});
  add({"is progressive", "re-encoded"});
  add({kPictureRemarks[0].reason, kPictureRemarks[0].action});
  add({"a", kBytesReplaced, "", 5});
  add({"b", kBytesReplaced, "", 6});
  EXPECT_EQ(counts.num_lines, 7);
  EXPECT_EQ(counts.without_dct,
            (std::map<std::string, int64_t>{{"damaged or cut", 1}, {"progressive", 2}}));
  EXPECT_EQ(counts.remarks.size(), 1U);
  ASSERT_EQ(counts.by_action.size(), 1U);
  EXPECT_EQ(counts.by_action.at(kBytesReplaced).num_lines, 2);
  EXPECT_EQ(counts.by_action.at(kBytesReplaced).count, 11);
}

TEST(ProgressLine, TellsRateAndTimeLeft) {
  const ConvertProgress progress{.split = "train",
                                 .num_samples = 1'281'167,
                                 .num_done = 538'090,
                                 .num_skipped = 2,
                                 .bytes_done = 59'189'900'000,
                                 .records = "pictures"};
  EXPECT_EQ(
      progress_line(progress, 43.5),
      "train  41 %  538,090 of 1,281,167 pictures (2 skipped)  12,369 pictures/s  1,360 MB/s  "
      "1:00 left");
}

TEST(ProgressLine, CountsHours) {
  const auto line = [](int64_t num_samples) {
    return progress_line({.split = "a", .num_samples = num_samples, .num_done = 1}, 1);
  };
  EXPECT_THAT(line(1 + 59 * 60 + 59), ::testing::HasSubstr(" 59:59 left"));
  EXPECT_THAT(line(1 + 2 * 3600 + 5 * 60 + 7), ::testing::HasSubstr(" 2:05:07 left"));
}

TEST(ProgressLine, HasNoRateBeforeTheFirstSample) {
  EXPECT_EQ(progress_line({.split = "val", .num_samples = 100}, 0), "val   0 %  0 of 100 records");
  EXPECT_EQ(progress_line({.split = "val", .num_samples = 100, .num_done = 5}, 0),
            "val   5 %  5 of 100 records");
}

TEST(ProgressBar, IsSilentOnAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK), 0);
  {
    ProgressBar bar(ends[1]);
    bar.update({.split = "train", .num_samples = 10, .num_done = 5});
  }
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), -1);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace ffkit
