#include "tasks/classification/classification_loss.h"

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

TEST(ClassificationLoss, IsTheCrossEntropyOfTheMixedAndSmoothedLabels) {
  at::manual_seed(1);
  const at::Tensor logits = at::randn({4, 5});
  const at::Tensor labels = at::tensor({3, 0, 4, 1}, at::kLong);
  const at::Tensor before = at::tensor({1, 3, 0, 4}, at::kLong);  // of the picture before each
  for (const double lambda : {1.0, 0.7, 0.0}) {
    for (const double smoothing : {0.0, 0.1}) {
      const at::Tensor mixed = at::one_hot(labels, 5)
                                   .mul(lambda)
                                   .add(at::one_hot(before, 5).mul(1 - lambda))
                                   .mul(1 - smoothing)
                                   .add(smoothing / 5);
      const double expected =
          -at::log_softmax(logits, 1).mul(mixed).sum().item<double>() / double(4);
      EXPECT_NEAR(classification_loss(logits, labels, lambda, smoothing).item<double>(), expected,
                  1e-5)
          << lambda << " " << smoothing;
    }
  }
}

const std::vector<std::string> kThree = {"cat", "big dog", "cow"};

class ClassWeights : public ::testing::Test {
 protected:
  at::Tensor of(const std::string& text) {
    testing::write_file(file(), text);
    return class_weights(file().string(), kThree, {});
  }
  std::filesystem::path file() const { return folder_ / "weights"; }
  testing::TempDir folder_;
};

TEST_F(ClassWeights, BalanceClasses) {
  EXPECT_TRUE(class_weights("balanced", kThree, {0, 0, 0, 0, 1, 2, 2, 2})
                  .allclose(at::tensor({8.0F / 12, 8.0F / 3, 8.0F / 9})));
  EXPECT_TRUE(class_weights("balanced", kThree, {0, 0}).equal(at::tensor({1 / 3.0F, 0.0F, 0.0F})));
}

TEST_F(ClassWeights, AreReadFromLinesAndJson) {
  const at::Tensor right = at::tensor({1.0F, 2.5F, 0.0F});
  EXPECT_TRUE(of("cat 1\nbig dog 2.5\n\ncow 0\n").equal(right));
  EXPECT_TRUE(of("cow,0\r\ncat,1\r\nbig dog,2.5\r\n").equal(right));
  EXPECT_TRUE(of("big dog\t2.5\ncow\t0\ncat\t1").equal(right));
  EXPECT_TRUE(of(R"( {"cat": 1, "big dog": 2.5, "cow": 0})").equal(right));
}

TEST_F(ClassWeights, SayWhatIsWrongWithAFile) {
  EXPECT_ERROR(of("cat 1\nbig dog 2\n"), invalid_argument);
  EXPECT_ERROR(of("cat 1\nbig dog 2\ncow 1\ncat 1"), invalid_argument);
  EXPECT_ERROR(of("cat 1\nhorse 2\n"), invalid_argument);
  EXPECT_ERROR(of("cat\n"), invalid_argument);
  EXPECT_ERROR(of("cat 1\nbig dog -2\ncow 1"), invalid_argument);
  EXPECT_ERROR(of("cat nan\n"), invalid_argument);
  EXPECT_ERROR(of("cat 0\nbig dog 0\ncow 0"), invalid_argument);
  EXPECT_EQ(of("\xEF\xBB\xBF"
               "cat 1\nbig dog 2\ncow 3")
                .sum()
                .item<float>(),
            6);
  // Of classes that no record has.
  testing::write_file(file(), "cat 1\nbig dog 0\ncow 0");
  EXPECT_ERROR(class_weights(file().string(), kThree, {1, 2, 2}), invalid_argument);
  EXPECT_ERROR(of("{\"cat\": \"1\"}"), invalid_argument);
  EXPECT_ERROR(of("{\"cat\": 1"), invalid_argument);
  EXPECT_ERROR(class_weights((folder_ / "none").string(), kThree, {}), not_found);
}

// torch.nn.CrossEntropyLoss(weight=w): sum of w[label] * loss over the sum of w[label]; the run
// divides by that sum.
TEST_F(ClassWeights, WeighTheLossAsTorchDoes) {
  const at::Tensor logits = at::randn({4, 3}), labels = at::tensor({0, 1, 1, 2}, at::kLong);
  const at::Tensor weights = at::tensor({1.0F, 2.0F, 4.0F});
  double sum = 0;
  for (int64_t i = 0; i < 4; ++i) {
    const double w = weights[labels[i].item<int64_t>()].item<double>();
    sum += w *
           classification_loss(logits[i].unsqueeze(0), labels[i].unsqueeze(0), 1, 0).item<double>();
  }
  EXPECT_NEAR(classification_loss(logits, labels, 1, 0, weights).item<double>(), sum / 4, 1e-6);
}

// With label smoothing a sample whose class weighs nothing has a loss as well.
TEST_F(ClassWeights, AreASumOverTheSamples) {
  const at::Tensor logits = at::randn({4, 3}), labels = at::tensor({0, 0, 1, 2}, at::kLong);
  const at::Tensor weights = at::tensor({0.0F, 2.0F, 4.0F});
  const double whole = classification_loss(logits, labels, 1, 0.1, weights).item<double>();
  const auto half = [&](int64_t first) {
    return classification_loss(logits.narrow(0, first, 2), labels.narrow(0, first, 2), 1, 0.1,
                               weights)
        .item<double>();
  };
  EXPECT_TRUE(std::isfinite(half(0)));
  EXPECT_NEAR(whole, (half(0) + half(2)) / 2, 1e-6);
}

at::Tensor labels(std::vector<int64_t> values) {
  return at::tensor(at::ArrayRef<int64_t>(values));
}

at::Tensor rows(std::vector<float> values, int64_t columns) {
  return at::tensor(at::ArrayRef<float>(values)).view({-1, columns});
}

TEST(AccuracyMeter, CountsSamplesAndNotBatches) {
  AccuracyMeter meter;
  // Six classes; the label's logit is the largest, the fifth and the sixth.
  meter.add(rows({9, 5, 4, 3, 2, 1, 9, 5, 4, 3, 2, 1, 9, 5, 4, 3, 2, 1}, 6), labels({0, 4, 5}));
  meter.add(rows({0, 1, 2, 3, 4, 5}, 6), labels({5}));
  const EvalResult result = meter.result();
  EXPECT_EQ(result.count, 4);
  EXPECT_DOUBLE_EQ(result.value("top1"), 0.5);
  EXPECT_DOUBLE_EQ(result.value("top5"), 0.75);
}

TEST(AccuracyMeter, AveragesTheLossOverSamples) {
  AccuracyMeter meter;
  meter.add(rows({0, 0, 0, 0}, 2), labels({0, 1}));
  meter.add(rows({std::log(3.0F), 0}, 2), labels({1}));  // -log(1/4)
  EXPECT_NEAR(meter.result().value("loss"), (2 * std::log(2.0) + std::log(4.0)) / 3, 1e-6);
}

TEST(AccuracyMeter, TakesAllClassesAsTop5WhenThereAreFewer) {
  AccuracyMeter meter;
  meter.add(rows({1, 0, 0}, 3), labels({2}));
  EXPECT_DOUBLE_EQ(meter.result().value("top1"), 0);
  EXPECT_DOUBLE_EQ(meter.result().value("top5"), 1);
}

}  // namespace

}  // namespace ffkit
