#include "pattern.h"

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit::text {

const char* Pattern::match(uint32_t at, const char* p, const char* end, int64_t& steps_left) const {
  for (;;) {
    if (--steps_left < 0) {
      throw error_of(ErrorCode::unsupported,
                     "the pattern '{}' of the tokenizer goes back too often in a text",
                     printable(text_));
    }
    const Node& node = nodes_[at];
    switch (node.op) {
      case Op::end:
        return p;
      case Op::line_end:
        if (p != end && *p != '\n') return nullptr;
        break;
      case Op::look:
        if ((match(node.branches[0], p, end, steps_left) != nullptr) == node.is_negative)
          return nullptr;
        break;
      case Op::branch:
        for (const uint32_t branch : node.branches) {
          if (const char* found = match(branch, p, end, steps_left); found != nullptr) return found;
        }
        return nullptr;
      case Op::run: {
        uint32_t count = 0;
        for (; count < node.max && p != end; ++count) {
          const Character c = character_at(p);
          if (!node.set.has(table_, c.code)) break;
          p += c.length;
        }
        if (count < node.min) return nullptr;
        if (count == node.min || node.is_possessive || nodes_[node.next].op == Op::end) break;
        for (;; --count, p = character_before(p)) {
          if (const char* found = match(node.next, p, end, steps_left); found != nullptr)
            return found;
          if (count == node.min) return nullptr;
        }
      }
    }
    at = node.next;
  }
}

Pattern::Match Pattern::find(const char* p, const char* end) const {
  // Patterns of tokenizers go back over a run of white space once.
  int64_t steps_left = 1000000 + 100 * (end - p);
  for (; p != end; p += character_at(p).length) {
    if (const char* found = match(first_, p, end, steps_left); found != nullptr) return {p, found};
  }
  return {};
}

}  // namespace ffkit::text
