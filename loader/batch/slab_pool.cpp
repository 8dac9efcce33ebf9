#include "batch/slab_pool.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/loader/slab_allocator.h>

#include "base/make_error.h"
#include "fields/decoder_base.h"

namespace ffkit {
namespace {

constexpr size_t kMaxSlabBytes = size_t{1} << 46;

size_t bytes_per_sample(const SlabField& field, int64_t batch_size) {
  size_t num_bytes = size_of(field.dtype);
  for (const int64_t extent : field.shape) {
    if (extent < 0 || static_cast<size_t>(extent) > kMaxSlabBytes / num_bytes) {
      refuse_argument(
          fmt::format("the batch's field '{}' has a dimension of {}, which is not possible",
                      field.name, extent));
    }
    num_bytes *= std::max<size_t>(static_cast<size_t>(extent), 1);
  }
  if (num_bytes > kMaxSlabBytes / static_cast<size_t>(batch_size)) {
    refuse_argument(fmt::format(
        "the batch's field '{}' needs {} bytes per sample, which is too much for a batch",
        field.name, num_bytes));
  }
  const bool is_empty = std::find(field.shape.begin(), field.shape.end(), 0) != field.shape.end();
  return is_empty ? 0 : num_bytes;
}

// Of a field whose decoder makes rows, but for its bytes: its shape becomes that of a sample.
void add_rows(SlabField& field, int64_t max_rows, int64_t copies) {
  field.has_rows = true;
  field.max_rows = max_rows;
  field.num_lists = std::max<int64_t>(copies, 1);
  field.bytes_per_row = bytes_per_sample(field, 1);
  field.shape.insert(field.shape.begin(), max_rows);
  if (copies > 0) field.shape.insert(field.shape.begin(), copies);
}

}  // namespace

SlabLayout make_slab_layout(const std::vector<BatchField>& fields, int64_t batch_size) {
  if (fields.empty()) {
    refuse_argument(
        "a batch needs at least one field: image_field, label_field or one of `fields`");
  }
  SlabLayout layout;
  for (const BatchField& field : fields) {
    if (field.name.empty()) refuse_argument("a field of the batch has no name");
    if (field.decoder == nullptr) {
      refuse_argument(fmt::format("the batch's field '{}' has no decoder", field.name));
    }
    for (const SlabField& earlier : layout.fields) {
      if (earlier.name == field.name) {
        refuse_argument(
            fmt::format("the batch has two fields '{}'; rename one of them", field.name));
      }
    }
    SlabField& added = layout.fields.emplace_back();
    added.name = field.name;
    added.dtype = field.decoder->dtype();
    added.shape = field.decoder->shape();
    added.offset = layout.num_bytes;
    added.rows = dynamic_cast<const RowsDecoder*>(field.decoder.get());
    added.row_parts = dynamic_cast<const RowPartsDecoder*>(field.decoder.get());
    added.parts = dynamic_cast<const PartsDecoder*>(field.decoder.get());
    added.lists = dynamic_cast<const RowListsDecoder*>(field.decoder.get());
    added.texts = dynamic_cast<const TextDecoder*>(field.decoder.get());
    if (added.parts != nullptr) added.num_parts = added.parts->num_parts();
    if (added.row_parts != nullptr) added.num_parts = added.row_parts->num_parts();
    RowLayout rows = RowLayout::padded;
    if (added.rows != nullptr) {
      rows = added.rows->layout();
      add_rows(added, added.rows->max_rows(), 0);
    } else if (added.lists != nullptr) {
      rows = added.lists->layout();
      add_rows(added, added.lists->max_rows(), added.lists->copies());
    }
    added.bytes_per_sample = added.texts != nullptr ? 0 : bytes_per_sample(added, batch_size);
    if (added.num_parts < (added.bytes_per_sample == 0 ? 0 : 1)) {
      refuse_argument(
          fmt::format("the batch's field '{}' is decoded in {} parts; expected at least 1",
                      field.name, added.num_parts));
    }
    added.bytes_per_list = added.bytes_per_sample / static_cast<size_t>(added.num_lists);
    if (rows == RowLayout::ragged) {
      added.is_ragged = true;
      added.shape = field.decoder->shape();
    }
    if (added.texts != nullptr) {
      added.has_rows = true;
      added.is_ragged = true;
      added.bytes_per_row = 1;
    }
    const size_t num_bytes = added.bytes_per_sample * static_cast<size_t>(batch_size);
    layout.num_bytes += (num_bytes + kSlabAlignment - 1) / kSlabAlignment * kSlabAlignment;
  }
  layout.num_bytes = std::max(layout.num_bytes, kSlabAlignment);
  layout.num_visible = layout.fields.size();
  return layout;
}

namespace {

constexpr size_t kSlabPageBytes = 4096;
constexpr size_t kHugePageBytes = size_t{2} << 20;

// Slabs of at least one huge page start on a huge page, so that the kernel can back all of them
// with huge pages.
constexpr std::align_val_t alignment_for(size_t num_bytes) {
  return std::align_val_t{num_bytes >= kHugePageBytes ? kHugePageBytes : kSlabPageBytes};
}

class HeapSlabAllocator final : public SlabAllocator {
 public:
  void* allocate(size_t num_bytes) override {
    void* slab = ::operator new(num_bytes, alignment_for(num_bytes));
    // Advice only: kernels without transparent huge pages refuse it, and small pages do as well.
    if (num_bytes >= kHugePageBytes) {
      static_cast<void>(madvise(slab, num_bytes / kSlabPageBytes * kSlabPageBytes, MADV_HUGEPAGE));
    }
    return slab;
  }

  void deallocate(void* slab, size_t num_bytes) noexcept override {
    ::operator delete(slab, alignment_for(num_bytes));
  }
};

}  // namespace

std::shared_ptr<SlabAllocator> default_slab_allocator() {
  return std::make_shared<HeapSlabAllocator>();
}

SlabTexts::SlabTexts() {
  added_.reserve(kSlabAlignment);
  make_room_to_join(kSlabAlignment);
}

void SlabTexts::begin(int64_t num_samples) {
  added_.clear();
  begins_.assign(num_samples, 0);
}

void SlabTexts::add(int64_t index_in_batch, std::string_view text) {
  const std::lock_guard lock(mutex_);
  const size_t begin = added_.size();
  added_.insert(added_.end(), text.begin(), text.end());
  // Here, where memory that is missing is an error of the sample.
  make_room_to_join(added_.capacity());
  begins_[index_in_batch] = begin;
}

void SlabTexts::join(std::span<const int64_t> offsets) {
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    std::memcpy(joined_.get() + offsets[i], added_.data() + begins_[i],
                static_cast<size_t>(offsets[i + 1] - offsets[i]));
  }
}

void SlabTexts::copy_joined(const SlabTexts& other, size_t num_bytes) {
  make_room_to_join(num_bytes);
  std::memcpy(joined_.get(), other.joined_.get(), num_bytes);
}

void SlabTexts::make_room_to_join(size_t num_bytes) {
  if (num_bytes <= joined_capacity_) return;
  joined_.reset(
      static_cast<std::byte*>(::operator new (num_bytes, std::align_val_t{kSlabAlignment})));
  joined_capacity_ = num_bytes;
}

void BatchSlab::begin_rows(int64_t num_samples) {
  const SlabLayout& layout = pool->layout();
  for (size_t f = 0; f < layout.fields.size(); ++f) {
    const SlabField& field = layout.fields[f];
    if (!field.has_rows) continue;
    row_offsets[f].assign(static_cast<size_t>(num_samples * field.num_lists) + 1, 0);
    if (texts[f] != nullptr) texts[f]->begin(num_samples);
  }
}

void BatchSlab::move_sample(int64_t from, int64_t to) {
  for (size_t f = 0; f < row_offsets.size(); ++f) {
    const SlabField& field = pool->layout().fields[f];
    std::byte* array = memory + field.offset;
    std::memmove(array + static_cast<size_t>(to) * field.bytes_per_sample,
                 array + static_cast<size_t>(from) * field.bytes_per_sample,
                 field.bytes_per_sample);
    if (texts[f] != nullptr) texts[f]->move(from, to);
    if (!field.has_rows) continue;
    const auto rows = row_offsets[f].begin() + 1;
    std::copy_n(rows + from * field.num_lists, field.num_lists, rows + to * field.num_lists);
  }
  record_indices[to] = record_indices[from];
  sources[to] = sources[from];
}

void drop_left_out(const SlabLayout& layout, BatchSlab& slab) {
  if (slab.left_out.empty()) return;
  std::ranges::sort(slab.left_out, {}, &LeftOut::index_in_batch);
  auto next = slab.left_out.begin();
  int64_t num_kept = 0;
  for (int64_t i = 0; i < slab.size; ++i) {
    if (next != slab.left_out.end() && next->index_in_batch == i) {
      ++next;
      continue;
    }
    if (num_kept != i) slab.move_sample(i, num_kept);
    ++num_kept;
  }
  slab.size = num_kept;
  slab.record_indices.resize(num_kept);
  slab.sources.resize(num_kept);
  for (size_t f = 0; f < layout.fields.size(); ++f) {
    const SlabField& field = layout.fields[f];
    if (field.has_rows) slab.row_offsets[f].resize(num_kept * field.num_lists + 1);
  }
}

void join_rows(const SlabLayout& layout, BatchSlab& slab) {
  for (size_t f = 0; f < layout.fields.size(); ++f) {
    const SlabField& field = layout.fields[f];
    if (!field.has_rows) continue;
    std::vector<int64_t>& offsets = slab.row_offsets[f];
    if (field.texts != nullptr) {
      std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
      slab.texts[f]->join(offsets);
      continue;
    }
    std::byte* memory = slab.memory + field.offset;
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      const auto num_rows = static_cast<size_t>(offsets[i + 1]);
      const auto begin = static_cast<size_t>(offsets[i]);
      if (field.is_ragged && i > 0) {
        std::memmove(memory + begin * field.bytes_per_row, memory + i * field.bytes_per_list,
                     num_rows * field.bytes_per_row);
      }
      offsets[i + 1] += offsets[i];
    }
  }
}

SlabPool::SlabPool(std::shared_ptr<SlabAllocator> allocator, int64_t num_slabs, int64_t batch_size,
                   SlabLayout layout)
    : allocator_(std::move(allocator)), layout_(std::move(layout)), slabs_(num_slabs) {
  free_.reserve(slabs_.size());
  try {
    for (BatchSlab& slab : slabs_) {
      slab.pool = this;
      for (const SlabField& field : layout_.fields) {
        std::vector<int64_t>& shape = slab.shapes.emplace_back(1);
        shape.insert(shape.end(), field.shape.begin(), field.shape.end());
        std::vector<int64_t>& offsets = slab.row_offsets.emplace_back();
        if (field.has_rows) offsets.reserve(static_cast<size_t>(batch_size * field.num_lists) + 1);
      }
      for (const SlabField& field : layout_.fields) {
        slab.texts.push_back(field.texts != nullptr ? std::make_unique<SlabTexts>() : nullptr);
      }
      slab.record_indices.reserve(batch_size);
      slab.replacements.reserve(batch_size);
      slab.left_out.reserve(batch_size);
      allocate(slab);
      free_.push_back(&slab);
    }
  } catch (...) {
    for (BatchSlab* slab : free_) allocator_->deallocate(slab->memory, layout_.num_bytes);
    throw;
  }
}

void SlabPool::allocate(BatchSlab& slab) {
  try {
    slab.memory = static_cast<std::byte*>(allocator_->allocate(layout_.num_bytes));
    if (slab.memory == nullptr) throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
    throw error_of(
        ErrorCode::io,
        "there is not enough memory for {} batches of {} bytes; use smaller batches or fewer "
        "batches (prefetch_batches, held_batches), or give the process more memory",
        num_slabs(), layout_.num_bytes);
  }
  if (reinterpret_cast<uintptr_t>(slab.memory) % kSlabAlignment == 0) return;
  void* crooked = std::exchange(slab.memory, nullptr);
  allocator_->deallocate(crooked, layout_.num_bytes);
  throw error_of(
      ErrorCode::invalid_argument,
      "the SlabAllocator gives memory at address {}; expected an address that is a multiple of {}",
      crooked, kSlabAlignment);
}

SlabPool::~SlabPool() {
  for (BatchSlab& slab : slabs_) {
    if (slab.memory != nullptr) allocator_->deallocate(slab.memory, layout_.num_bytes);
  }
}

BatchSlab* SlabPool::acquire() {
  BatchSlab* slab = nullptr;
  {
    std::lock_guard lock(mutex_);
    slab = free_.back();
    free_.pop_back();
  }
  if (slab->memory != nullptr) return slab;
  try {
    allocate(*slab);
  } catch (...) {
    discard(slab);
    throw;
  }
  return slab;
}

void SlabPool::discard(BatchSlab* slab) {
  std::lock_guard lock(mutex_);
  free_.push_back(slab);
}

Batch SlabPool::hand_over(BatchSlab* slab) {
  for (size_t i = 0; i < slab->shapes.size(); ++i) {
    const bool is_ragged = layout_.fields[i].is_ragged;
    slab->shapes[i][0] = is_ragged ? slab->row_offsets[i].back() : slab->size;
  }
  std::sort(slab->replacements.begin(), slab->replacements.end(),
            [](const Replacement& a, const Replacement& b) {
              return a.index_in_batch < b.index_in_batch;
            });
  {
    std::lock_guard lock(mutex_);
    ++num_held_;
  }
  // The slab is part of the pool: sharing the pool's reference count allocates nothing and keeps it
  // alive.
  return Batch(std::shared_ptr<BatchSlab>(shared_from_this(), slab));
}

int64_t SlabPool::num_held() const {
  std::lock_guard lock(mutex_);
  return num_held_;
}

void SlabPool::give_back(BatchSlab* slab) {
  if (allocator_->takes_back_each_batch()) {
    allocator_->deallocate(std::exchange(slab->memory, nullptr), layout_.num_bytes);
  }
  std::lock_guard lock(mutex_);
  free_.push_back(slab);
  --num_held_;
}

namespace {

int64_t product_of(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

// What the largest height, and the largest width, of the pictures need. Sizes of samples that could
// not be had are any numbers.
ImageSize largest_of(const SlabLayout& layout, const BatchSlab& slab, const PaddedView& view) {
  const SlabField& field = layout.fields[view.sizes];
  const auto* sizes = reinterpret_cast<const int64_t*>(slab.memory + field.offset);
  ImageSize largest = {1, 1};
  for (int64_t i = 0; i < slab.size * product_of(field.shape); i += 2) {
    largest.height = std::max(largest.height, std::min(sizes[i], view.canvas.height));
    largest.width = std::max(largest.width, std::min(sizes[i + 1], view.canvas.width));
  }
  const auto rounded = [&](int64_t side, int64_t all) {
    return std::min((side + view.multiple - 1) / view.multiple * view.multiple, all);
  };
  return {rounded(largest.height, view.canvas.height), rounded(largest.width, view.canvas.width)};
}

// Planes of `from` become planes of `to`, each of them at or before its old place.
void move_planes(std::byte* memory, int64_t num_planes, ImageSize from, ImageSize to,
                 size_t pixel_bytes) {
  const size_t row_bytes = static_cast<size_t>(to.width) * pixel_bytes;
  std::byte* out = memory;
  for (int64_t plane = 0; plane < num_planes; ++plane) {
    for (int64_t y = 0; y < to.height; ++y, out += row_bytes) {
      const auto at = static_cast<size_t>((plane * from.height + y) * from.width);
      std::memmove(out, memory + at * pixel_bytes, row_bytes);
    }
  }
}

}  // namespace

void cut_padding(const SlabLayout& layout, BatchSlab& slab) {
  for (const PaddedView& view : layout.padded) {
    const ImageSize size = largest_of(layout, slab, view);
    for (const auto& [f, axis] : view.arrays) {
      const SlabField& field = layout.fields[f];
      const std::span<const int64_t> shape = field.shape;
      const size_t pixel_bytes =
          size_of(field.dtype) * static_cast<size_t>(product_of(shape.subspan(axis + 2)));
      const int64_t num_samples = field.is_ragged ? slab.row_offsets[f].back() : slab.size;
      move_planes(slab.memory + field.offset, num_samples * product_of(shape.first(axis)),
                  view.canvas, size, pixel_bytes);
      slab.shapes[f][1 + axis] = size.height;
      slab.shapes[f][2 + axis] = size.width;
    }
  }
}

}  // namespace ffkit
