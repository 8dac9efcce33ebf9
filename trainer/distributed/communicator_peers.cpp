#include "distributed/communicator_peers.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace ffkit {

std::vector<at::Tensor> CommunicatorPeers::gather_rows(const at::Tensor& rows) {
  if (communicator_.is_alone()) return {rows};
  const at::Tensor size = at::full({1}, rows.size(0), at::kLong);
  std::vector<int64_t> sizes;
  for (const at::Tensor& other : communicator_.all_gather(size)) {
    sizes.push_back(other.item<int64_t>());
  }
  // All of one shape, as the gathering wants them.
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = *std::max_element(sizes.begin(), sizes.end());
  at::Tensor padded = at::zeros(shape, rows.options());
  padded.narrow(0, 0, rows.size(0)).copy_(rows);
  std::vector<at::Tensor> out = communicator_.all_gather(padded);
  for (size_t i = 0; i < out.size(); ++i) out[i] = out[i].narrow(0, 0, sizes[i]);
  return out;
}

}  // namespace ffkit
