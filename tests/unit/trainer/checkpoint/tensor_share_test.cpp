#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_parts.h"

namespace ffkit {
namespace {

at::Tensor numbers() {
  return at::arange(5 * 12, at::kLong).reshape({5, 12});
}

// The columns of `boxes`, behind each other, of rows 1 to 4.
TensorShare columns(const std::vector<std::pair<int64_t, int64_t>>& boxes) {
  TensorShare share{.whole_shape = {5, 12}, .dimension = 1, .boxes = {}};
  for (const auto& [begin, size] : boxes) {
    share.boxes.push_back({.begin = {1, begin}, .size = {3, size}});
  }
  return share;
}

at::Tensor part_of(const at::Tensor& whole, const std::vector<std::pair<int64_t, int64_t>>& boxes) {
  std::vector<at::Tensor> parts;
  for (const auto& [begin, size] : boxes) {
    parts.push_back(whole.narrow(0, 1, 3).narrow(1, begin, size));
  }
  return at::cat(parts, 1);
}

using Boxes = std::vector<std::pair<int64_t, int64_t>>;

TEST(TensorShare, OfSeveralBoxesIsCopiedFromTheWholeAndBack) {
  const Boxes boxes = {{0, 2}, {5, 1}, {8, 3}};
  const TensorShare share = columns(boxes);
  EXPECT_EQ(share.shape(), (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(share.num_elements(), 18);
  const at::Tensor own = at::zeros({3, 6}, at::kLong);
  const TensorShare all = TensorShare::of_all({5, 12});
  EXPECT_EQ(copy_share(numbers(), all, own, share), 18);
  EXPECT_TRUE(own.equal(part_of(numbers(), boxes)));
  const at::Tensor whole = at::zeros({5, 12}, at::kLong);
  EXPECT_EQ(copy_share(own, share, whole, all), 18);
  EXPECT_TRUE(part_of(whole, boxes).equal(part_of(numbers(), boxes)));
  EXPECT_EQ(whole.sum().item<int64_t>(), own.sum().item<int64_t>());
}

TEST(TensorShare, OfSeveralBoxesMeetsAnotherOfSeveral) {
  const Boxes from = {{0, 3}, {4, 2}, {7, 5}};
  const Boxes to = {{1, 1}, {5, 3}, {10, 2}};
  const at::Tensor own = at::full({3, 6}, -1, at::kLong);
  // Columns 1, 5, 7, 10 and 11 of 1, 5, 6, 7, 10 and 11.
  EXPECT_EQ(copy_share(part_of(numbers(), from), columns(from), own, columns(to)), 15);
  const at::Tensor wanted = part_of(numbers(), to).clone();
  wanted.select(1, 2).fill_(-1);
  EXPECT_TRUE(own.equal(wanted)) << own;
  EXPECT_TRUE(overlap(columns(from), columns(to)));
  EXPECT_FALSE(overlap(columns({{0, 3}, {6, 1}}), columns({{3, 3}, {7, 5}})));
}

}  // namespace
}  // namespace ffkit
