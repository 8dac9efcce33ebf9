// Pictures of a batch as cv::Mat, without a copy. Header only, for programs that have OpenCV
// (core).
#pragma once

#include <opencv2/core/mat.hpp>

#include <ffkit/base/error.h>
#include <ffkit/loader/batch.h>

namespace ffkit {

// Picture i of the batch, 0 <= i < batch.size(): [H, W] with channels R, G, B of u8, f16 or f32,
// with the values of the batch (normalised if the loader normalises). Valid as long as the batch.
// Throws Error(not_found) without pictures, and Error(unsupported) for Layout::nchw and for bf16,
// which OpenCV does not have.
inline cv::Mat picture_mat(Batch& batch, int64_t i) {
  if (batch.images() == nullptr) {
    throw Error(ErrorCode::not_found, "the batch has no pictures",
                {.subject = ErrorSubject::field});
  }
  if (batch.layout() != Layout::nhwc) {
    throw Error(ErrorCode::unsupported,
                "OpenCV needs the channels of a pixel next to each other in memory; load with "
                "Layout::nhwc");
  }
  int type = 0;
  switch (batch.dtype()) {
    case DType::u8:
      type = CV_8UC3;
      break;
    case DType::f16:
      type = CV_16FC3;
      break;
    case DType::f32:
      type = CV_32FC3;
      break;
    default:
      throw Error(ErrorCode::unsupported,
                  "OpenCV has no picture type for the dtype of this batch; load as u8, f16 or f32");
  }
  const auto [count, height, width, channels] = batch.shape();
  if (i < 0 || i >= count) {
    throw Error(ErrorCode::invalid_argument, "the batch has no picture with this number");
  }
  auto* pixels = static_cast<uint8_t*>(batch.images()) +
                 i * height * width * channels * static_cast<int64_t>(size_of(batch.dtype()));
  return {static_cast<int>(height), static_cast<int>(width), type, pixels};
}

}  // namespace ffkit
