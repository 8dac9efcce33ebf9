// Odd files of detections: what is taken and what is refused, as nuscenes-devkit 1.2.0 does with
// Python 3.11.
#include <ffkit/nuscenes/detection.h>

#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

constexpr const char* kBox =
    R"({"sample_token": "s", "translation": [1, 2, 3], "size": [1, 2, 3], "rotation": [1, 0, 0, 0], )"
    R"("velocity": [0.5, NaN], "detection_name": "car", "detection_score": 0.25, "attribute_name": ""})";

struct OddFile {
  const char* name;
  const char*
      // of kBox, in a file of that box; "": all of it; null: new_part is the file, with @ for the
      // box
      old_part;
  const char* new_part;
  // by load_prediction() and what DetectionEval does with one box that matches nothing
  bool is_taken;
};

constexpr OddFile kFiles[] = {
    {"whole", nullptr, R"({"meta": {"use_lidar": true}, "results": {"s": [@]}})", true},
    {"translation of texts", R"("translation": [1, 2, 3])", R"("translation": ["1", "2", "3"])",
     false},
    {"translation of booleans", R"("translation": [1, 2, 3])",
     R"("translation": [true, false, true])", true},
    {"translation with null", R"("translation": [1, 2, 3])", R"("translation": [1, null, 3])",
     false},
    {"translation with NaN", R"("translation": [1, 2, 3])", R"("translation": [1, NaN, 3])", false},
    {"translation with Infinity", R"("translation": [1, 2, 3])",
     R"("translation": [1, Infinity, 3])", true},
    {"translation with -Infinity", R"("translation": [1, 2, 3])",
     R"("translation": [-Infinity, 2, 3])", true},
    {"translation beyond f64", R"("translation": [1, 2, 3])", R"("translation": [1e400, 2, 3])",
     true},
    {"translation nested", R"("translation": [1, 2, 3])", R"("translation": [[1], [2], [3]])",
     false},
    {"translation as an object", R"("translation": [1, 2, 3])",
     R"("translation": {"x": 1, "y": 2, "z": 3})", false},
    {"translation as a text", R"("translation": [1, 2, 3])", R"("translation": "123")", false},
    {"translation of two", R"("translation": [1, 2, 3])", R"("translation": [1, 2])", false},
    {"translation null", R"("translation": [1, 2, 3])", R"("translation": null)", false},
    {"size with NaN", R"("size": [1, 2, 3])", R"("size": [1, NaN, 3])", false},
    {"size of texts", R"("size": [1, 2, 3])", R"("size": ["1", "2", "3"])", false},
    {"rotation of zeros", R"("rotation": [1, 0, 0, 0])", R"("rotation": [0, 0, 0, 0])", true},
    {"rotation of five", R"("rotation": [1, 0, 0, 0])", R"("rotation": [1, 0, 0, 0, 0])", false},
    {"rotation with a text", R"("rotation": [1, 0, 0, 0])", R"("rotation": [1, 0, 0, "0"])", false},
    {"velocity of NaN", R"("velocity": [0.5, NaN])", R"("velocity": [NaN, NaN])", true},
    {"velocity of three", R"("velocity": [0.5, NaN])", R"("velocity": [0.5, 0, 0])", false},
    {"velocity null", R"("velocity": [0.5, NaN])", R"("velocity": null)", false},
    {"score as a text", R"("detection_score": 0.25)", R"("detection_score": "0.25")", true},
    {"score as a text with spaces", R"("detection_score": 0.25)",
     R"("detection_score": " 2.5e-1 ")", true},
    {"score as an empty text", R"("detection_score": 0.25)", R"("detection_score": "")", false},
    {"score as a word", R"("detection_score": 0.25)", R"("detection_score": "high")", false},
    {"score as the text nan", R"("detection_score": 0.25)", R"("detection_score": "nan")", false},
    {"score as the text inf", R"("detection_score": 0.25)", R"("detection_score": "inf")", true},
    {"score true", R"("detection_score": 0.25)", R"("detection_score": true)", true},
    {"score null", R"("detection_score": 0.25)", R"("detection_score": null)", false},
    {"score NaN", R"("detection_score": 0.25)", R"("detection_score": NaN)", false},
    {"score Infinity", R"("detection_score": 0.25)", R"("detection_score": Infinity)", true},
    {"score as a list", R"("detection_score": 0.25)", R"("detection_score": [0.25])", false},
    {"score as an integer", R"("detection_score": 0.25)", R"("detection_score": 1)", true},
    {"score with a leading zero", R"("detection_score": 0.25)", R"("detection_score": 00.25)",
     false},
    {"score with a plus", R"("detection_score": 0.25)", R"("detection_score": +0.25)", false},
    {"score without digits before the point", R"("detection_score": 0.25)",
     R"("detection_score": .25)", false},
    {"score without digits after the point", R"("detection_score": 0.25)",
     R"("detection_score": 1.)", false},
    {"NaN with more letters", R"("velocity": [0.5, NaN])", R"("velocity": [0.5, NaNs])", false},
    {"nan in small letters", R"("velocity": [0.5, NaN])", R"("velocity": [0.5, nan])", false},
    {"name null", R"("detection_name": "car")", R"("detection_name": null)", false},
    {"name in capitals", R"("detection_name": "car")", R"("detection_name": "Car")", false},
    {"name with an escape", R"("detection_name": "car")", R"("detection_name": "c\u0061r")", true},
    {"attribute null", R"("attribute_name": "")", R"("attribute_name": null)", false},
    {"attribute as a number", R"("attribute_name": "")", R"("attribute_name": 5)", false},
    {"num_pts 0", R"("detection_name": "car")", R"("num_pts": 0, "detection_name": "car")", true},
    {"num_pts as a text", R"("detection_name": "car")",
     R"("num_pts": "5", "detection_name": "car")", true},
    {"num_pts NaN", R"("detection_name": "car")", R"("num_pts": NaN, "detection_name": "car")",
     false},
    {"num_pts null", R"("detection_name": "car")", R"("num_pts": null, "detection_name": "car")",
     false},
    {"ego_translation of two", R"("detection_name": "car")",
     R"("ego_translation": [1, 2], "detection_name": "car")", false},
    {"ego_translation with NaN", R"("detection_name": "car")",
     R"("ego_translation": [1, 2, NaN], "detection_name": "car")", false},
    {"member that is not valid JSON", R"("detection_name": "car")",
     R"("extra": [1, nonsense], "detection_name": "car")", false},
    {"member of any kind", R"("detection_name": "car")",
     R"("extra": {"a": [1, NaN, {"b": null}]}, "detection_name": "car")", true},
    {"member twice, the last one right", R"("detection_name": "car")",
     R"("detection_name": "tram", "detection_name": "car")", true},
    {"member twice, the last one wrong", R"("detection_score": 0.25)",
     R"("detection_name": "tram", "detection_score": 0.25)", false},
    {"comma at the end of a list", R"("rotation": [1, 0, 0, 0])", R"("rotation": [1, 0, 0, 0,])",
     false},
    {"comma at the end of an object", R"("attribute_name": "")", R"("attribute_name": "",)", false},
    {"single quotes", R"("detection_name": "car")", R"("detection_name": 'car')", false},
    {"control character in a text", R"("detection_name": "car")", "\"detection_name\": \"c\tar\"",
     false},
    {"box is null", "", "null", false},
    {"box is a list", "", "[]", false},
    {"boxes are null", nullptr, R"({"meta": {}, "results": {"s": null}})", false},
    {"sample twice, the last one right", nullptr,
     R"({"meta": {}, "results": {"s": [{}], "s": [@]}})", true},
    {"sample twice, the last one wrong", nullptr,
     R"({"meta": {}, "results": {"s": [@], "s": [{}]}})", false},
    {"results twice, the last one right", nullptr,
     R"({"results": {"t": []}, "meta": {}, "results": {"s": [@]}})", true},
    {"results twice, the last one wrong", nullptr,
     R"({"results": {"s": [@]}, "meta": {}, "results": {"t": []}})", false},
    {"results as a list", nullptr, R"({"meta": {}, "results": [@]})", false},
    {"no meta", nullptr, R"({"results": {"s": [@]}})", false},
    {"meta null", nullptr, R"({"meta": null, "results": {"s": [@]}})", true},
    {"meta NaN", nullptr, R"({"meta": NaN, "results": {"s": [@]}})", true},
    {"meta that is not valid JSON", nullptr, R"({"meta": {"a": nonsense}, "results": {"s": [@]}})",
     false},
    {"more after the end", nullptr, R"({"meta": {"use_lidar": true}, "results": {"s": [@]}} {})",
     false},
    {"a bracket after the end", nullptr, R"({"meta": {"use_lidar": true}, "results": {"s": [@]}}})",
     false},
    {"white space after the end", nullptr,
     "{\"meta\": {\"use_lidar\": true}, \"results\": {\"s\": [@]}} \n\n", true},
    {"byte order mark", nullptr,
     "\xef"
     "\xbb"
     "\xbf"
     "{\"meta\": {\"use_lidar\": true}, \"results\": {\"s\": [@]}}",
     false},
    {"comment", nullptr, R"(/* detections */ {"meta": {"use_lidar": true}, "results": {"s": [@]}})",
     false},
    {"cut", nullptr, R"({"meta": {"use_lidar": true}, "results": {"s": [@])", false},
    {"empty", nullptr, "", false},
};

std::string replaced(std::string text, const std::string& old_part, const std::string& new_part) {
  const size_t at = text.find(old_part);
  if (at != std::string::npos) text.replace(at, old_part.size(), new_part);
  return text;
}

std::string file_of(const std::string& box) {
  return R"({"meta": {"use_lidar": true}, "results": {"s": [)" + box + "]}}";
}

std::string text_of(const OddFile& file) {
  if (file.old_part == nullptr) return replaced(file.new_part, "@", kBox);
  if (*file.old_part == '\0') return file_of(file.new_part);
  return file_of(replaced(kBox, file.old_part, file.new_part));
}

class OddSubmissions : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const auto path = dir_ / "results.json";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // What is wrong with it, "" for nothing.
  std::string problem_of(const std::string& text) {
    const GroundTruth truth = {.samples = {{.token = "s"}}};
    try {
      (void)evaluate(truth, read_submission(write(text)));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  testing::TempDir dir_;
};

TEST_F(OddSubmissions, AreTakenAndRefusedAsByTheDevkit) {
  for (const OddFile& file : kFiles) {
    const std::string problem = problem_of(text_of(file));
    EXPECT_EQ(problem.empty(), file.is_taken) << file.name << ": " << problem;
  }
}

// These the devkit takes.
TEST_F(OddSubmissions, WithoutScoreOrOfAnotherSampleAreRefused) {
  EXPECT_NE(problem_of(file_of(replaced(kBox, "\"detection_score\": 0.25, ", ""))), "");
  EXPECT_NE(problem_of(file_of(replaced(kBox, "\"s\"", "\"t\""))), "");
  EXPECT_NE(problem_of(file_of(replaced(kBox, "[0.5, NaN]", "[\"0.5\", \"0\"]"))), "");
  EXPECT_NE(problem_of(file_of(replaced(kBox, "[0.5, NaN]", "[null, null]"))), "");
}

TEST_F(OddSubmissions, GiveTheDevkitsNumbers) {
  const auto box = [&](const char* old_part, const char* new_part) {
    return read_submission(write(file_of(replaced(kBox, old_part, new_part)))).samples[0].boxes[0];
  };
  EXPECT_EQ(box("0.25", "\" 2.5e-1 \"").score, 0.25);
  EXPECT_EQ(box("0.25", "true").score, 1);
  EXPECT_EQ(box("0.25", "0.5, \"detection_score\": 0.75").score, 0.75);
  EXPECT_EQ(box("[1, 2, 3]", "[true, 1e400, -Infinity]").translation,
            (Vector3{1, HUGE_VAL, -HUGE_VAL}));
  EXPECT_EQ(box("\"size\"", "\"num_pts\": 0, \"size\"").num_points, 0);
  EXPECT_EQ(box("\"size\"", "\"num_pts\": \"7\", \"size\"").num_points, 7);
  // Of a sample that is there twice, the place of the first and the boxes of the last.
  const Submission twice = read_submission(
      write(std::string(R"({"meta": null, "results": {"s": [], "t": [], "s": [)") + kBox + "]}}"));
  ASSERT_EQ(twice.samples.size(), 2U);
  EXPECT_EQ(twice.samples[0].token, "s");
  EXPECT_EQ(twice.samples[0].boxes.size(), 1U);
  EXPECT_EQ(twice.meta, "null");
}

}  // namespace
}  // namespace ffkit::nuscenes
