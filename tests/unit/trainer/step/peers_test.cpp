#include "step/peers.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/world.h"

namespace ffkit {
namespace {

TEST(Peers, GatherRowsOfAnyNumber) {
  testing::run_world(3, [](Communicator& communicator) {
    CommunicatorPeers peers(communicator);
    // Rank 0 has no row, rank 1 one, rank 2 two.
    const std::vector<at::Tensor> all =
        peers.gather_rows(at::full({peers.rank(), 2}, double(peers.rank()), at::kDouble));
    EXPECT_EQ(all.size(), 3U);
    for (int64_t rank = 0; rank < int64_t(all.size()); ++rank) {
      const at::Tensor& rows = all[size_t(rank)];
      EXPECT_EQ(rows.sizes(), (std::vector<int64_t>{rank, 2}));
      EXPECT_TRUE(rows.eq(double(rank)).all().item<bool>());
    }
    at::Tensor numbers = at::full({2}, double(peers.rank()), at::kDouble);
    peers.sum(numbers);
    EXPECT_EQ(numbers[0].item<double>(), 3);
  });
}

}  // namespace
}  // namespace ffkit
