#include "data/picture_source.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include <ffkit/base/machine.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "data/warning.h"
#include "launch/waiting.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 11> kRead = {
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".ppm", ".pgm", ".pbm", ".pnm"};
constexpr std::array<std::string_view, 9> kNotRead = {".gif", ".tif", ".tiff", ".avif", ".heic",
                                                      ".jp2", ".jxl", ".svg",  ".ico"};

template <size_t n>
bool ends_with_one_of(const std::array<std::string_view, n>& endings, const fs::path& path) {
  return std::ranges::find(endings, in_lower_case(path.extension().string())) != endings.end();
}

}  // namespace

std::string PictureFiles::left_out() const {
  std::string text;
  if (num_not_read > 0) {
    text = fmt::format(
        "{} pictures, such as {}, are left out, because ffkit does not read their format; save "
        "them as PNG or JPEG",
        num_not_read, not_read);
  }
  if (num_others == 0) return text;
  return fmt::format(
      "{}{}{} files, such as {}, are left out, because their names are not names of pictures", text,
      text.empty() ? "" : "; ", num_others, other);
}

PictureFiles list_pictures(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder, error)) {
    return {.folder = folder.parent_path(), .names = {folder.filename().string()}};
  }
  if (!fs::is_directory(folder, error)) {
    throw error_at(folder, ErrorCode::not_found, "is not a folder with pictures or a data set");
  }
  PictureFiles out{.folder = folder};
  fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with('.')) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    const std::string name = it->path().lexically_relative(folder).generic_string();
    if (ends_with_one_of(kRead, it->path())) {
      out.names.push_back(name);
    } else if (ends_with_one_of(kNotRead, it->path())) {
      if (out.num_not_read++ == 0) out.not_read = name;
    } else if (out.num_others++ == 0) {
      out.other = name;
    }
  }
  require_done(error, folder, "cannot be listed");
  std::ranges::sort(out.names);
  return out;
}

PictureSource::PictureSource(fs::path folder, std::vector<std::string> names,
                             const ImageOptions& image, const TrainOptions& options,
                             const ProcessPlace& place, c10::Device device)
    : folder_(std::move(folder)),
      names_(std::move(names)),
      image_(image),
      batch_size_(options.batch_size),
      skips_bad_(options.bad_samples == BadSamples::skip),
      device_(device) {
  for (auto i = int64_t{place.rank}; i < std::ssize(names_); i += place.world_size)
    own_.push_back(i);
  if (options.limit_batches > 0 && std::ssize(own_) > options.limit_batches * batch_size_)
    own_.resize(options.limit_batches * batch_size_);
  const int threads = options.num_threads > 0
                          ? options.num_threads
                          : default_decoding_threads(core_share(place.local_world_size), device);
  for (int i = 0; i < threads; ++i) pipelines_.emplace_back(image_);
}

int64_t PictureSource::num_batches() const {
  return (std::ssize(own_) + batch_size_ - 1) / batch_size_;
}

void PictureSource::set_epoch(int64_t epoch) {
  if (ahead_.valid()) ahead_.wait();
  ahead_ = {};
  next_ = num_bad_ = 0;
  state_.epoch = epoch;
}

void PictureSource::read_ahead() {
  if (next_ >= std::ssize(own_)) return;
  ahead_ = std::async(std::launch::async, [this, begin = next_] { return read(begin); });
  next_ += batch_size_;
}

DeviceBatch PictureSource::read(int64_t begin) {
  const int64_t count = std::min(batch_size_, std::ssize(own_) - begin);
  const ImageSize size = image_size(image_.transform);
  at::Tensor images = at::empty({count, size.height, size.width, 3}, at::kFloat);
  if (image_.output.layout == Layout::nchw)
    images = at::empty({count, 3, size.height, size.width}, at::kFloat);
  auto* const pixels = images.mutable_data_ptr<float>();
  const int64_t stride = images.numel() / count;
  std::vector<std::exception_ptr> errors(count);
  std::atomic<int64_t> next = 0;
  const auto work = [&](ImagePipeline& pipeline) {
    PipelineTimes times;
    for (int64_t i = next++; i < count; i = next++) {
      const fs::path path = folder_ / names_[own_[begin + i]];
      try {
        const std::vector<std::byte> bytes = read_whole_file(path);
        pipeline.run(bytes, SampleKey{.record_index = own_[begin + i]}, pixels + i * stride, times);
      } catch (const Error& error) {
        errors[i] = std::make_exception_ptr(error.within({.path = path.string()}));
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (ImagePipeline& pipeline : pipelines_)
      threads.emplace_back([&work, &pipeline] { work(pipeline); });
  }
  DeviceBatch out;
  for (int64_t i = 0; i < count; ++i) {
    if (errors[i] != nullptr) {
      if (!skips_bad_) std::rethrow_exception(errors[i]);
      try {
        std::rethrow_exception(errors[i]);
      } catch (const Error& error) {
        warn_on_stderr(std::string(error.what()) + "; it is left out");
        ++num_bad_;
      }
      continue;
    }
    const auto kept = std::ssize(out.record_indices);
    if (kept != i) std::copy_n(pixels + i * stride, stride, pixels + kept * stride);
    out.record_indices.push_back(own_[begin + i]);
  }
  out.size = std::ssize(out.record_indices);
  images = images.narrow(0, 0, out.size);
  if (image_.output.layout == Layout::nhwc) images = images.permute({0, 3, 1, 2});
  out.fields = {{.name = "image", .values = images}};
  return out;
}

std::optional<DeviceBatch> PictureSource::next() {
  const auto start = std::chrono::steady_clock::now();
  if (!ahead_.valid()) read_ahead();
  if (!ahead_.valid()) return std::nullopt;
  DeviceBatch batch = ahead_.get();
  read_ahead();
  if (!ahead_.valid()) warn_of_left_out(folder_, num_bad_, std::ssize(own_));
  batch.fields.front().values = batch.fields.front().values.to(device_);
  wait_seconds_ = seconds_since(start);
  return batch;
}

}  // namespace ffkit
