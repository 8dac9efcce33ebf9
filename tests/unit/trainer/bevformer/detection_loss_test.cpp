#include "tasks/bevformer/loss/detection_loss.h"

#include <ATen/ops/stack.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

double cost_of(const std::vector<double>& cost, int64_t columns,
               const std::vector<int64_t>& assignment) {
  double sum = 0;
  for (size_t i = 0; i < assignment.size(); ++i) {
    sum += cost[i * static_cast<size_t>(columns) + static_cast<size_t>(assignment[i])];
  }
  return sum;
}

// By trying all.
double least_cost(const std::vector<double>& cost, int64_t rows, int64_t columns) {
  std::vector<int64_t> order(static_cast<size_t>(columns));
  std::iota(order.begin(), order.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    least = std::min(least, cost_of(cost, columns, {order.begin(), order.begin() + rows}));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(LeastCostAssignment, IsTheBestOfAll) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> reals(-3, 3);
  std::uniform_int_distribution<int> small(0, 2);  // with many ties
  for (int round = 0; round < 200; ++round) {
    const int64_t columns = 1 + round % 6;
    const int64_t rows = round / 6 % (columns + 1);
    std::vector<double> cost(static_cast<size_t>(rows * columns));
    for (double& c : cost) c = round % 2 == 0 ? reals(random) : small(random);
    const std::vector<int64_t> assignment = least_cost_assignment(cost, rows, columns);
    const std::set<int64_t> different(assignment.begin(), assignment.end());
    EXPECT_EQ(different.size(), static_cast<size_t>(rows));
    EXPECT_NEAR(cost_of(cost, columns, assignment), least_cost(cost, rows, columns), 1e-12);
  }
}

TEST(LeastCostAssignment, TiesGoToTheFirstFreeColumn) {
  const std::vector<double> cost(3 * 5, 1.0);
  EXPECT_EQ(least_cost_assignment(cost, 3, 5), (std::vector<int64_t>{0, 1, 2}));
}

TEST(LeastCostAssignment, RefusesWhatHasNoAnswer) {
  EXPECT_THROW(least_cost_assignment(std::vector<double>(6), 3, 2), Error);
  EXPECT_THROW(least_cost_assignment(std::vector<double>{1, NAN}, 1, 2), Error);
  EXPECT_THROW(least_cost_assignment(std::vector<double>{1, INFINITY}, 1, 2), Error);
}

constexpr int64_t kClasses = 3;

at::Tensor some_boxes(int64_t n) {
  at::Tensor boxes = at::rand({n, 9}, at::kDouble);
  boxes.narrow(1, 0, 2).mul_(20).sub_(10);
  boxes.narrow(1, 3, 3).add_(0.5);
  return boxes;
}

// Two objects in the first sample, none in the second; the predictions of query 3 and 1 are the
// boxes of object 0 and 1.
struct Scene {
  std::vector<Objects> objects = {{some_boxes(2), at::tensor({2, 0}, at::kLong)},
                                  {at::zeros({0, 9}, at::kDouble), at::zeros({0}, at::kLong)}};
  at::Tensor logits = at::full({1, 2, 5, kClasses}, -2.0, at::kDouble);
  at::Tensor coded = code_boxes(some_boxes(10)).view({1, 2, 5, 10}) + 30;

  Scene() {
    coded[0][0][3] = code_boxes(objects[0].boxes)[0];
    coded[0][0][1] = code_boxes(objects[0].boxes)[1];
  }
};

TEST(Boxes, AreCodedAndDecodedBack) {
  const at::Tensor boxes = some_boxes(4);
  at::Tensor logits = at::full({4, kClasses}, -10.0, at::kDouble);
  for (int64_t i = 0; i < 4; ++i) logits[i][i % kClasses] = 4 - i;
  const DetectedBoxes found =
      decode_boxes(logits, code_boxes(boxes), {.max_boxes = 4, .range = {-60, -60, -9, 60, 60, 9}});
  ASSERT_EQ(found.boxes.size(0), 4);
  EXPECT_TRUE(at::allclose(found.boxes, boxes, 1e-12, 1e-12));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found.labels[i].item<int64_t>(), i % kClasses);
    EXPECT_NEAR(found.scores[i].item<double>(), 1 / (1 + std::exp(double(i - 4))), 1e-12);
  }
}

TEST(Boxes, OutsideOfTheRangeAndBeyondTheNumberAreLeftOut) {
  at::Tensor boxes = some_boxes(3);
  boxes[1][0] = 70;
  const at::Tensor logits = at::tensor({3., 2., 1.}, at::kDouble).view({3, 1});
  const BoxDecoding two{.max_boxes = 2, .range = {-60, -60, -9, 60, 60, 9}};
  const DetectedBoxes found = decode_boxes(logits, code_boxes(boxes), two);
  ASSERT_EQ(found.boxes.size(0), 1);
  EXPECT_TRUE(at::allclose(found.boxes[0], boxes[0], 1e-12, 1e-12));
}

// A query may be the best guess for two classes.
TEST(Boxes, OneQueryGivesABoxForEachOfItsClasses) {
  const at::Tensor logits = at::tensor({1., 2., -5., -6.}, at::kDouble).view({2, 2});
  const DetectedBoxes found = decode_boxes(logits, code_boxes(some_boxes(2)), {.max_boxes = 2});
  EXPECT_EQ(found.labels[0].item<int64_t>(), 1);
  EXPECT_EQ(found.labels[1].item<int64_t>(), 0);
  EXPECT_TRUE(at::allclose(found.boxes[0], found.boxes[1]));
}

TEST(DetectionLoss, EachObjectGetsTheQueryThatFits) {
  const Scene s;
  const std::vector<LayerLoss> losses = detection_losses(s.logits, s.coded, s.objects, {}, 1);
  EXPECT_EQ(losses[0].matching.queries, (std::vector<std::vector<int64_t>>{{3, 1}, {}}));
}

// By the formulas, one number after the other.
TEST(DetectionLoss, IsTheSumByHand) {
  const Scene s;
  const std::vector<LayerLoss> losses = detection_losses(s.logits, s.coded + 0.5, s.objects, {}, 2);
  ASSERT_EQ(losses.size(), 1U);
  const double p = 1 / (1 + std::exp(2.0));
  const double no = -0.75 * p * p * std::log(1 - p);
  const double yes = -0.25 * (1 - p) * (1 - p) * std::log(p);
  EXPECT_NEAR(losses[0].classes.item<double>(), 2 * (2 * yes + 28 * no) / 2, 1e-9);
  EXPECT_NEAR(losses[0].boxes.item<double>(), 0.25 * 2 * (8 + 2 * 0.2) * 0.5 / 2, 1e-9);
}

TEST(DetectionLoss, WithoutObjectsThereAreClassesOnly) {
  Scene s;
  s.objects = {s.objects[1], s.objects[1]};
  const std::vector<LayerLoss> losses = detection_losses(s.logits, s.coded, s.objects, {}, 1);
  const double p = 1 / (1 + std::exp(2.0));
  EXPECT_NEAR(losses[0].classes.item<double>(), 2 * 30 * -0.75 * p * p * std::log(1 - p), 1e-9);
  EXPECT_EQ(losses[0].boxes.item<double>(), 0);
}

// However the samples are cut into batches.
TEST(DetectionLoss, IsASumOverTheSamples) {
  Scene s;
  s.objects[1] = {s.objects[0].boxes.slice(0, 0, 1), s.objects[0].labels.slice(0, 0, 1)};
  const auto loss = [&](int64_t first, int64_t last) {
    const std::vector<LayerLoss> found =
        detection_losses(s.logits.slice(1, first, last), (s.coded + 0.5).slice(1, first, last),
                         {s.objects.begin() + first, s.objects.begin() + last}, {}, 3);
    return std::pair(found[0].classes.item<double>(), found[0].boxes.item<double>());
  };
  const auto [classes, boxes] = loss(0, 2);
  const auto first = loss(0, 1), second = loss(1, 2);
  EXPECT_NEAR(classes, first.first + second.first, 1e-12);
  EXPECT_NEAR(boxes, first.second + second.second, 1e-12);
}

// A box without a length has no logarithm.
TEST(DetectionLoss, ObjectsWithoutAFiniteBoxAreMatchedByTheirClass) {
  Scene s;
  const double both =
      detection_losses(s.logits, s.coded + 0.5, s.objects, {}, 2)[0].boxes.item<double>();
  s.objects[0].boxes[1][4] = 0;
  const at::Tensor coded = (s.coded + 0.5).requires_grad_(true);
  const std::vector<LayerLoss> losses = detection_losses(s.logits, coded, s.objects, {}, 2);
  EXPECT_NEAR(losses[0].boxes.item<double>(), both / 2, 1e-12);
  EXPECT_EQ(losses[0].matching.queries[0].size(), 2U);
  losses[0].boxes.backward();
  EXPECT_TRUE(coded.grad().isfinite().all().item<bool>());
}

TEST(DetectionLoss, PredictionsThatAreNotFiniteAreAnError) {
  const Scene s;
  EXPECT_THROW(detection_losses(s.logits, s.coded * NAN, s.objects, {}, 2), Error);
}

}  // namespace

}  // namespace ffkit
