#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include <ffkit/trainer/peers.h>

#include "base/make_error.h"
#include "distributed/communicator.h"

namespace ffkit {
namespace {

namespace autograd = torch::autograd;

// `tensor` is left as it is.
at::Tensor summed(const at::Tensor& tensor, Peers& peers) {
  at::Tensor out = tensor.contiguous();
  if (out.is_same(tensor)) out = tensor.clone();
  peers.sum(out);
  return out;
}

// What does not go along a dimension gets one all the same: for OfPeers.
constexpr int64_t kAnyDimension = 0;

at::Tensor all_summed(const at::Tensor& tensor, int64_t /*dimension*/, Peers& peers) {
  return summed(tensor, peers);
}

at::Tensor as_it_is(const at::Tensor& tensor, int64_t /*dimension*/, Peers& /*peers*/) {
  return tensor.view_as(tensor);
}

at::Tensor gathered(const at::Tensor& tensor, int64_t dimension, Peers& peers) {
  return at::cat(peers.gather(tensor.contiguous()), dimension);
}

at::Tensor share_of_sum(const at::Tensor& tensor, int64_t dimension, Peers& peers) {
  const int64_t count = tensor.size(dimension) / peers.world_size();
  return summed(tensor, peers).narrow(dimension, peers.rank() * count, count).contiguous();
}

using AlongDimension = at::Tensor(const at::Tensor& tensor, int64_t dimension, Peers& peers);

// Whose backward pass is another function of the kind.
template <AlongDimension& kForward, AlongDimension& kBackward>
struct OfPeers : autograd::Function<OfPeers<kForward, kBackward>> {
  static at::Tensor forward(autograd::AutogradContext* context, const at::Tensor& tensor,
                            int64_t dimension, Peers* peers) {
    context->saved_data["dimension"] = dimension;
    context->saved_data["peers"] = reinterpret_cast<int64_t>(peers);
    return kForward(tensor, dimension, *peers);
  }
  static autograd::variable_list backward(autograd::AutogradContext* context,
                                          const autograd::variable_list& gradients) {
    auto* peers = reinterpret_cast<Peers*>(context->saved_data["peers"].toInt());
    return {kBackward(gradients[0], context->saved_data["dimension"].toInt(), *peers), at::Tensor(),
            at::Tensor()};
  }
};

using SumOfPeers = OfPeers<all_summed, as_it_is>;
using SummedGradient = OfPeers<as_it_is, all_summed>;
using GatheredFromPeers = OfPeers<gathered, share_of_sum>;
using SumShareOfPeers = OfPeers<share_of_sum, gathered>;

[[noreturn]] void refuse_alone(int other) {
  throw error_of(ErrorCode::invalid_argument,
                 "there is only one process, so it cannot exchange data with rank {}", other);
}

}  // namespace

Transfer Peers::start_send(const at::Tensor& /*tensor*/, int other, int /*tag*/) {
  refuse_alone(other);
}

Transfer Peers::start_receive(at::Tensor& /*tensor*/, int other, int /*tag*/) {
  refuse_alone(other);
}

at::Tensor sum_of_peers(const at::Tensor& tensor, Peers& peers) {
  return peers.world_size() == 1 ? tensor : SumOfPeers::apply(tensor, kAnyDimension, &peers);
}

at::Tensor with_summed_gradient(const at::Tensor& tensor, Peers& peers) {
  return peers.world_size() == 1 ? tensor : SummedGradient::apply(tensor, kAnyDimension, &peers);
}

at::Tensor gathered_from_peers(const at::Tensor& tensor, int64_t dimension, Peers& peers) {
  return peers.world_size() == 1 ? tensor : GatheredFromPeers::apply(tensor, dimension, &peers);
}

at::Tensor sum_share_of_peers(const at::Tensor& tensor, int64_t dimension, Peers& peers) {
  return peers.world_size() == 1 ? tensor : SumShareOfPeers::apply(tensor, dimension, &peers);
}

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
