// What splits say of the roots, one by one and chained.
#include <ffkit/format/dataset_writer.h>
#include <ffkit/pose/person_record.h>
#include <ffkit/pose/root_truth.h>

#include "test_prelude.h"

namespace ffkit::pose {
namespace {

Schema truth_schema() {
  const auto scalar = [](const char* name, DType dtype) {
    return Field{.name = name, .type = FieldType::scalar, .dtype = dtype, .column = true};
  };
  const auto tensor = [](const char* name) {
    return Field{.name = name, .type = FieldType::tensor, .dtype = DType::f64};
  };
  return {{scalar(person::kImageId, DType::i64),
           scalar(person::kAnnotationId, DType::i64),
           scalar(person::kScore, DType::f64),
           scalar(person::kHasDepth, DType::u8),
           {.name = person::kId, .type = FieldType::string, .column = true},
           tensor(person::kBox),
           tensor(person::kFocal),
           tensor(person::kCentre),
           tensor(person::kRootCamera),
           tensor(person::kPictureRoots)}};
}

// Persons of pictures 5, 6, ..., each with its root at (0, 0, depth).
Dataset write_persons(const std::filesystem::path& folder, int64_t count, double depth,
                      std::map<std::string, std::string> facts) {
  const Schema schema = truth_schema();
  DatasetWriter writer(folder, {.split = "val", .schema = schema, .source = std::move(facts)});
  RecordBuilder builder(schema);
  const std::vector<double> numbers = {0, 0, depth, 100};
  const auto part = [&](int64_t size) {
    return std::as_bytes(std::span(numbers).first(static_cast<size_t>(size)));
  };
  for (int64_t i = 0; i < count; ++i) {
    builder.set_scalar<int64_t>(0, 5 + i);
    builder.set_scalar<int64_t>(1, i);
    builder.set_scalar<double>(2, 1.0);
    builder.set_scalar<uint8_t>(3, 1);
    builder.set_string(4, "x.jpg#1");
    builder.set_tensor(5, {DType::f64, {4}, part(4)});
    builder.set_tensor(6, {DType::f64, {2}, part(2)});
    builder.set_tensor(7, {DType::f64, {2}, part(2)});
    builder.set_tensor(8, {DType::f64, {3}, part(3)});
    builder.set_tensor(9, {DType::f64, {1, 3}, part(3)});
    writer.append(testing::encoded(builder));
  }
  writer.finish();
  return Dataset::open(folder);
}

// Picture 5 of one set is not picture 5 of the other.
TEST(RootTruth, PicturesOfChainedSetsAreTold) {
  const testing::TempDir dir;
  const Dataset near =
      write_persons(dir / "near", 2, 1000, {{kSetFact, "demo"}, {kValidRootsFact, "2"}});
  const Dataset far =
      write_persons(dir / "far", 3, 4000, {{kSetFact, "mupots"}, {kValidRootsFact, "7"}});
  const RootTruth one = read_root_truth(far);
  EXPECT_EQ(one.persons[0].image_id, 5);
  EXPECT_EQ(one.num_valid_roots, 7);
  EXPECT_EQ(one.set, "mupots");

  const RootTruth both = read_root_truth(Dataset::chain({near, far}));
  EXPECT_EQ(both.set, "");
  EXPECT_EQ(both.num_valid_roots, 9);
  ASSERT_EQ(both.persons.size(), 5U);
  ASSERT_EQ(both.valid_roots.size(), 5U);
  std::vector<Point3> found;
  for (const RootPerson& person : both.persons) {
    EXPECT_EQ(both.valid_roots.at(person.image_id).front()[2], person.root[2]);
    found.push_back(person.root);
  }
  const RootEvaluation figures = evaluate_roots(both, found, 250);
  EXPECT_EQ(figures.error->total, 0);
  // All are right, of nine that there are.
  EXPECT_GT(*figures.average_precision, 0.4);

  const Dataset unknown = write_persons(dir / "unknown", 1, 1000, {{kSetFact, "muco"}});
  EXPECT_FALSE(read_root_truth(Dataset::chain({far, unknown})).num_valid_roots.has_value());
}

std::vector<RootResult> results_of(const RootTruth& truth) {
  std::vector<RootResult> results;
  for (const RootPerson& person : truth.persons) {
    results.push_back({.image_id = person.image_id,
                       .root = person.root,
                       .box = person.box,
                       .score = person.score});
  }
  return results;
}

RootTruth two_in_a_picture() {
  RootTruth truth{.set = "mupots", .valid_roots = {{1, {{0, 0, 1000}, {0, 0, 5000}}}}};
  truth.num_valid_roots = 2;
  for (const double depth : {1000.0, 5000.0}) {
    truth.persons.push_back({.image_id = 1,
                             .annotation_id = static_cast<int64_t>(depth),
                             .box = {depth, 0, 10, 10},
                             .root = {0, 0, depth},
                             .has_truth = true,
                             .score = 1});
  }
  return truth;
}

TEST(RootResults, CountWithTheScoresOfTheFile) {
  const RootTruth truth = two_in_a_picture();
  std::vector<RootResult> results = results_of(truth);
  results[0].score = 0.5;
  results[0].root = {0, 0, 9000};
  // The right one first: its step does not count. Wrong first: half of half.
  EXPECT_EQ(evaluate_results(results, truth, "r.json", 250).average_precision, 0);
  results[0].score = 2;
  EXPECT_EQ(evaluate_results(results, truth, "r.json", 250).average_precision, 0.25);
  results[0].score.reset();
  EXPECT_ERROR(evaluate_results(results, truth, "r.json"), corrupt);
}

TEST(RootResults, MayComeInAnyOrder) {
  RootTruth truth = two_in_a_picture();
  std::vector<RootResult> results = results_of(truth);
  std::swap(results[0], results[1]);
  EXPECT_EQ(evaluate_results(results, truth, "r.json").error->total, 0);
  for (RootResult& result : results) {
    result.annotation_id = static_cast<int64_t>(result.root[2]);
    result.box.reset();
  }
  EXPECT_EQ(evaluate_results(results, truth, "r.json").error->total, 0);
  for (RootResult& result : results) result.annotation_id.reset();
  EXPECT_EQ(evaluate_results(results, truth, "r.json").error->total, 4000);  // in their order
  results[1].box = Box{1, 2, 3, 4};
  EXPECT_ERROR(evaluate_results(results, truth, "r.json"), corrupt);
  results.pop_back();
  EXPECT_ERROR(evaluate_results(results, truth, "r.json"), corrupt);
  // Precision alone needs no entry for each person.
  for (RootPerson& person : truth.persons) person.has_truth = false;
  results[0].root = {0, 0, 1000};
  EXPECT_EQ(evaluate_results(results, truth, "r.json").average_precision, 0);
  EXPECT_FALSE(evaluate_results(results, truth, "r.json").error.has_value());
}

TEST(RootTruth, TheUnitFollowsFromTheSet) {
  const auto unit = [](const char* set) {
    Manifest manifest;
    manifest.source[kSetFact] = set;
    return length_unit(manifest);
  };
  EXPECT_EQ(unit("3dpw"), "m");
  for (const char* set : {"human36m", "muco", "mupots", "demo"}) EXPECT_EQ(unit(set), "mm");
  for (const char* set : {"mpii", "mscoco", "mine"}) EXPECT_EQ(unit(set), "");
  EXPECT_EQ(length_unit({}), "");
}

TEST(RootMetrics, MapIsPutIntoTheBoxAndBeforeTheCamera) {
  const Point3 root =
      root_of_map({32, 16, 2000}, {100, 200, 64, 128}, {{500, 1000}, {82, 132}}, 64, 64);
  EXPECT_DOUBLE_EQ(root[0], (132 - 82) / 500.0 * 2000);
  EXPECT_DOUBLE_EQ(root[1], (232 - 132) / 1000.0 * 2000);
  EXPECT_EQ(root[2], 2000);
}

TEST(RootMetrics, ErrorIsTheMeanDistance) {
  const std::vector<Point3> found = {{3, 4, 0}, {0, 0, 2}}, truth = {{0, 0, 0}, {0, 0, 0}};
  const RootError error = root_error(found, truth);
  EXPECT_EQ(error.total, 3.5);
  EXPECT_EQ(error.x, 1.5);
  EXPECT_EQ(error.y, 2);
  EXPECT_EQ(error.z, 1);
  EXPECT_EQ(error.count, 2);
  EXPECT_ERROR(root_error(found, std::span(truth).first(1)), invalid_argument);
}

TEST(RootMetrics, ActionIsInTheName) {
  EXPECT_EQ(action_of("s_09_act_02_subact_01/x.jpg#1"), 0);
  EXPECT_STREQ(action_name(action_of("s_11_act_16_ca_01")), "WalkTogether");
  EXPECT_EQ(action_of("s_11_act_17_ca_01"), -1);
  EXPECT_EQ(action_of("TS1/img.jpg"), -1);
}

// By hand: in the order of the scores right, wrong (its nearest is taken, although another is
// free), right.
TEST(RootMetrics, EachRootIsTakenOnce) {
  const std::map<int64_t, std::vector<Point3>> truth = {{1, {{0, 0, 1000}, {0, 0, 1240}}},
                                                        {2, {{0, 0, 3000}}}};
  const std::vector<FoundRoot> found = {{2, {0, 100, 3000}, 0.5},
                                        {1, {0, 0, 1010}, 0.9},
                                        {1, {0, 0, 1020}, 0.8},
                                        {3, {0, 0, 1020}, 0.95}};  // a picture without a true root
  // precision 1, 1/2, 2/3; recall 1/3, 1/3, 2/3; the first step does not count
  EXPECT_DOUBLE_EQ(root_average_precision(found, truth, 3), 2.0 / 3 * (2.0 / 3 - 1.0 / 3));
  EXPECT_EQ(root_average_precision(found, truth, 3, 100), 0);  // 100 is not below 100
  EXPECT_ERROR(root_average_precision(found, truth, 0), invalid_argument);
}

TEST(RootMetrics, EqualScoresKeepTheirOrder) {
  const std::map<int64_t, std::vector<Point3>> truth = {{1, {{0, 0, 0}}}, {2, {{0, 0, 0}}}};
  const FoundRoot right{1, {0, 0, 0}, 1}, wrong{1, {0, 0, 900}, 1}, other{2, {0, 0, 0}, 1};
  EXPECT_EQ(root_average_precision({right, wrong, other}, truth, 2), 2.0 / 3 * 0.5);
  EXPECT_EQ(root_average_precision({wrong, right, other}, truth, 2), 0.5 * 0.5 + 2.0 / 3 * 0.5);
}

}  // namespace
}  // namespace ffkit::pose
