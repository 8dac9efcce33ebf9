#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <ffkit/loader/batch.h>

#include "base/make_error.h"
#include "batch/slab_pool.h"
#include "fields/decoder_base.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_field_index(size_t i, size_t num_fields) {
  throw error_of(
      ErrorCode::invalid_argument,
      "the batch has no field number {}; the batch has {} fields, and the first is field 0", i,
      num_fields);
}

void copy_texts(const SlabTexts& from, size_t num_bytes, SlabTexts& to) {
  try {
    to.copy_joined(from, num_bytes);
  } catch (const std::bad_alloc&) {
    throw error_of(ErrorCode::io,
                   "there is not enough memory for a copy of {} bytes of texts; copy fewer "
                   "batches, or give the process more memory",
                   num_bytes);
  }
}

}  // namespace

size_t BatchArray::num_bytes() const {
  return array_bytes(dtype, shape);
}

Batch::Batch() = default;

Batch::Batch(std::shared_ptr<BatchSlab> slab) : slab_(std::move(slab)) {}

Batch::~Batch() {
  if (slab_ != nullptr) slab_->pool->give_back(slab_.get());
}

Batch::Batch(Batch&&) noexcept = default;

Batch& Batch::operator=(Batch&& other) noexcept {
  // The old slab leaves with `dropped`, also when a batch is moved onto itself.
  Batch dropped(std::move(other));
  slab_.swap(dropped.slab_);
  return *this;
}

Batch Batch::copy() const {
  if (slab_ == nullptr) return {};
  const SlabLayout& layout = slab_->pool->layout();
  const auto pool = std::make_shared<SlabPool>(default_slab_allocator(), 1, slab_->size, layout);
  BatchSlab* slab = pool->acquire();
  slab->shapes = slab_->shapes;
  slab->row_offsets = slab_->row_offsets;
  slab->record_indices = slab_->record_indices;
  slab->sources = slab_->sources;
  slab->replacements = slab_->replacements;
  slab->left_out = slab_->left_out;
  slab->size = slab_->size;
  slab->epoch = slab_->epoch;
  slab->step = slab_->step;
  slab->position = slab_->position;
  slab->mix_lambda = slab_->mix_lambda;
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    const size_t num_bytes = array(i).num_bytes();
    if (layout.fields[i].texts != nullptr) {
      copy_texts(*slab_->texts[i], num_bytes, *slab->texts[i]);
      continue;
    }
    std::memcpy(slab->memory + layout.fields[i].offset, slab_->memory + layout.fields[i].offset,
                num_bytes);
  }
  return pool->hand_over(slab);
}

SlabAllocator* Batch::allocator() const noexcept {
  return slab_ == nullptr ? nullptr : &slab_->pool->allocator();
}

int64_t Batch::size() const noexcept {
  return slab_ == nullptr ? 0 : slab_->size;
}

std::span<const int64_t> Batch::record_indices() const noexcept {
  if (slab_ == nullptr) return {};
  return slab_->record_indices;
}

std::span<const int32_t> Batch::source() const noexcept {
  if (slab_ == nullptr) return {};
  return slab_->sources;
}

int64_t Batch::epoch() const noexcept {
  return slab_ == nullptr ? 0 : slab_->epoch;
}

int64_t Batch::step() const noexcept {
  return slab_ == nullptr ? 0 : slab_->step;
}

std::span<const Replacement> Batch::replacements() const noexcept {
  if (slab_ == nullptr) return {};
  return slab_->replacements;
}

std::span<const LeftOut> Batch::left_out() const noexcept {
  if (slab_ == nullptr) return {};
  return slab_->left_out;
}

size_t Batch::num_fields() const noexcept {
  return slab_ == nullptr ? 0 : slab_->pool->layout().num_visible;
}

std::string_view Batch::field_name(size_t i) const {
  if (i >= num_fields()) refuse_field_index(i, num_fields());
  return slab_->pool->layout().fields[i].name;
}

BatchArray Batch::field(size_t i) const {
  if (i >= num_fields()) refuse_field_index(i, num_fields());
  return array(i);
}

// Also of what is not visible.
BatchArray Batch::array(size_t i) const {
  const SlabField& field = slab_->pool->layout().fields[i];
  std::byte* data = field.texts != nullptr ? slab_->texts[i]->data() : slab_->memory + field.offset;
  return {field.dtype, slab_->shapes[i], data};
}

bool Batch::has_rows(size_t i) const {
  if (i >= num_fields()) refuse_field_index(i, num_fields());
  return slab_->pool->layout().fields[i].has_rows;
}

bool Batch::has_texts(size_t i) const {
  if (i >= num_fields()) refuse_field_index(i, num_fields());
  return slab_->pool->layout().fields[i].texts != nullptr;
}

BatchArray Batch::field(std::string_view name) const {
  return field(index_of(name));
}

size_t Batch::index_of(std::string_view name) const {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < num_fields(); ++i) {
    if (field_name(i) == name) return i;
    names.push_back(field_name(i));
  }
  throw Error(ErrorCode::not_found,
              fmt::format("the batch has no field '{}'; {}", name,
                          names.empty() ? std::string("it has no fields")
                                        : fmt::format("its fields are {}", fmt::join(names, ", "))),
              {.subject = ErrorSubject::field, .name = std::string(name)});
}

std::span<const int64_t> Batch::row_offsets(std::string_view name) const {
  const size_t i = index_of(name);
  if (!has_rows(i)) {
    throw Error(ErrorCode::not_found,
                fmt::format("the batch has no row offsets for the field '{}', because all samples "
                            "of this field have one shape",
                            name),
                {.subject = ErrorSubject::field, .name = std::string(name)});
  }
  return slab_->row_offsets[i];
}

std::vector<std::string_view> Batch::strings(std::string_view name) const {
  const size_t index = index_of(name);
  if (!has_texts(index)) {
    throw error_of(ErrorCode::invalid_argument,
                   "the batch's field '{}' has no texts; make this field with copy_string()", name);
  }
  const auto* text = static_cast<const char*>(field(index).data);
  const std::vector<int64_t>& offsets = slab_->row_offsets[index];
  std::vector<std::string_view> texts;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    texts.emplace_back(text + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
  }
  return texts;
}

std::span<const std::string> Batch::views() const noexcept {
  if (slab_ == nullptr) return {};
  return slab_->pool->layout().views;
}

size_t Batch::index_of_view(std::string_view view) const {
  const std::span<const std::string> names = views();
  const auto found = std::ranges::find(names, view);
  if (found == names.end()) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("the batch has no view '{}'; its views are {}", view, fmt::join(names, ", ")),
        {.subject = ErrorSubject::field, .name = std::string(view)});
  }
  return static_cast<size_t>(found - names.begin());
}

BatchArray Batch::geometry(std::string_view view) const {
  return array(num_fields() + 1 + index_of_view(view));
}

BatchArray Batch::unpadded_sizes(std::string_view view) const {
  const size_t index = index_of_view(view);
  for (const PaddedView& padded : slab_->pool->layout().padded) {
    if (padded.view == index) return array(padded.sizes);
  }
  throw Error(
      ErrorCode::not_found,
      fmt::format("the view '{}' has no sizes before padding, because its pictures are not padded",
                  view),
      {.subject = ErrorSubject::field, .name = std::string(view)});
}

std::vector<PaddedArray> Batch::padded_arrays() const {
  std::vector<PaddedArray> all;
  if (slab_ == nullptr) return all;
  const SlabLayout& layout = slab_->pool->layout();
  for (const PaddedView& padded : layout.padded) {
    for (const auto& [field, axis] : padded.arrays) {
      all.push_back({.name = layout.fields[field].name,
                     .view = layout.views[padded.view],
                     .height_axis = 1 + axis});
    }
  }
  return all;
}

BatchArray Batch::source_sizes() const {
  if (views().empty()) {
    throw Error(ErrorCode::not_found, "the batch has no pictures, so it has no sizes of pictures",
                {.subject = ErrorSubject::field});
  }
  return array(num_fields());
}

std::optional<size_t> Batch::image_field() const noexcept {
  if (slab_ == nullptr || slab_->pool->layout().image < 0) return std::nullopt;
  return static_cast<size_t>(slab_->pool->layout().image);
}

const void* Batch::images() const {
  return image_array().data;
}

BatchArray Batch::image_array() const {
  const std::optional<size_t> image = image_field();
  return image ? field(*image) : BatchArray{.dtype = DType::f32};
}

void* Batch::images() {
  return image_array().data;
}

std::array<int64_t, 4> Batch::shape() const {
  const auto shape = image_array().shape;
  if (shape.empty()) return {};
  return {shape[0], shape[1], shape[2], shape[3]};
}

DType Batch::dtype() const {
  return image_array().dtype;
}

Layout Batch::layout() const noexcept {
  return slab_ == nullptr ? Layout::nchw : slab_->pool->layout().image_layout;
}

double Batch::mix_lambda() const noexcept {
  return slab_ == nullptr ? 1 : slab_->mix_lambda;
}

std::span<const int64_t> Batch::labels() const {
  if (slab_ == nullptr || slab_->pool->layout().label < 0) return {};
  const BatchArray labels = field(static_cast<size_t>(slab_->pool->layout().label));
  return {static_cast<const int64_t*>(labels.data), static_cast<size_t>(slab_->size)};
}

}  // namespace ffkit
