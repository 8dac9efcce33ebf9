// OpenBlocks: blocks that were read lately, with their documents in the order of the epoch. The
// least recently used ones make room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/text/token_data.h>

#include "token_order.h"

namespace ffkit::text {

class OpenBlocks {
 public:
  // The tokens of a block, document behind document.
  struct Block {
    std::vector<std::byte> tokens;  // of dtype()
    std::vector<uint32_t> ends;     // of its documents
  };

  // Keeps blocks up to `max_bytes`, and always the last two that were asked for.
  OpenBlocks(Dataset dataset, const TokenFacts& facts, int64_t max_bytes);

  DType dtype() const { return dtype_; }
  // The block at a place of `order`'s epoch. It lives until the call after the next one. Throws
  // Error(corrupt) and Error(io) as Dataset::read().
  const Block& at(const TokenOrder& order, int64_t place);
  void clear();

 private:
  Block read(const TokenOrder& order, int64_t block);

  Dataset dataset_;
  DType dtype_;
  int64_t vocabulary_size_;
  int64_t max_bytes_;
  int64_t num_bytes_ = 0;
  struct Entry {
    int64_t place;
    Block block;
  };
  std::list<Entry> recent_;  // the last used first
  std::unordered_map<int64_t, std::list<Entry>::iterator> by_place_;
  std::vector<std::byte> record_;
};

}  // namespace ffkit::text
