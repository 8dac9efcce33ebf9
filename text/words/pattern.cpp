// Ruby's syntax, as Oniguruma reads it, from the right to the left: each node is made with the one
// that follows it.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/make_error.h"
#include "base/printable.h"
#include "pre_tokenizer.h"

namespace ffkit::text {

const char* Pattern::match(uint32_t at, const char* p, const char* end, int64_t& steps_left) const {
  for (;;) {
    if (--steps_left < 0) {
      throw error_of(ErrorCode::unsupported,
                     "the pattern '{}' of the tokenizer backtracks too often in a text",
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

namespace {

constexpr int kMaxDepth = 50;

bool is_letter(uint32_t code) {
  return (code | 32) >= 'a' && (code | 32) <= 'z';
}

void add_range(CharacterSet& set, uint32_t first, uint32_t last) {
  for (uint32_t c = first; c <= std::min(last, 127U); ++c)
    set.ascii[c >> 6] |= uint64_t{1} << (c & 63);
  if (last >= 128) set.ranges.emplace_back(std::max(first, 128U), last);
}

void add_categories(CharacterSet& set, CategorySet categories) {
  const uint8_t* table = character_table();
  set.categories |= categories;
  for (uint32_t c = 0; c < 128; ++c) {
    if ((categories >> (table[c] & 31) & 1) != 0) add_range(set, c, c);
  }
}

// The other case, and what Unicode folds to the letter.
void add_folded(CharacterSet& set, uint32_t letter) {
  add_range(set, letter | 32, letter | 32);
  add_range(set, letter & ~32U, letter & ~32U);
  if ((letter | 32) == 's') add_range(set, 0x17F, 0x17F);
  if ((letter | 32) == 'k') add_range(set, 0x212A, 0x212A);
}

}  // namespace

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  Pattern parse() {
    const Alternatives all = alternatives(0, false);
    if (at_ != text_.size()) refuse("')' without '('");
    if (all.can_be_empty) {
      throw error_of(ErrorCode::unsupported, "has the pattern '{}', which can match an empty text",
                     printable(text_));
    }
    pattern_.nodes_.emplace_back();  // the end
    pattern_.text_ = text_;
    pattern_.first_ = make(all, 0);
    return std::move(pattern_);
  }

 private:
  struct Item;
  struct Sequence {
    std::vector<Item> items;
  };
  struct Alternatives {
    std::vector<Sequence> sequences;
    bool can_be_empty = false;
  };
  struct Item {
    Pattern::Node node;
    std::optional<Alternatives> group{};  // of op branch or look
    bool is_optional = false;             // of a group
  };

  [[noreturn]] void refuse(std::string_view what) const {
    throw error_of(ErrorCode::unsupported,
                   "has {} in the pattern '{}', which ffkit does not support", what,
                   printable(text_));
  }
  bool is_at_end() const { return at_ == text_.size(); }
  bool takes(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  uint32_t character() {
    if (is_at_end()) refuse("an unfinished group or set");
    const Character c = character_at(text_.data() + at_);
    at_ += c.length;
    return c.code;
  }

  Alternatives alternatives(int depth, bool folds) {
    if (depth > kMaxDepth) refuse("too many nested groups");
    Alternatives all;
    do {
      Sequence sequence;
      bool is_empty = true;
      while (!is_at_end() && text_[at_] != '|' && text_[at_] != ')') {
        Item found = item(depth, folds);
        check_folding(sequence, found, folds);
        const bool takes_none = found.node.op == Pattern::Op::line_end ||
                                found.node.op == Pattern::Op::look || found.node.min == 0 ||
                                found.is_optional || (found.group && found.group->can_be_empty);
        is_empty = is_empty && takes_none;
        sequence.items.push_back(std::move(found));
      }
      all.can_be_empty = all.can_be_empty || is_empty;
      all.sequences.push_back(std::move(sequence));
    } while (takes("|"));
    return all;
  }

  // "ss" is "ß" to Oniguruma where case does not count.
  void check_folding(const Sequence& before, const Item& item, bool folds) const {
    if (!folds || before.items.empty()) return;
    const CharacterSet& left = before.items.back().node.set;
    const CharacterSet& right = item.node.set;
    for (const std::string_view pair : {"ss", "st", "ff", "fi", "fl"}) {
      const auto has = [](const CharacterSet& set, char c) {
        return (set.ascii[1] >> (c & 63) & 1) != 0;
      };
      if (has(left, pair[0]) && has(right, pair[1])) {
        refuse(fmt::format("'{}' in a group that ignores case", pair));
      }
    }
  }

  Item item(int depth, bool folds) {
    Item found;
    if (takes("$")) {
      found.node.op = Pattern::Op::line_end;
    } else if (takes("(")) {
      found = group(depth, folds);
    } else {
      found.node.op = Pattern::Op::run;
      set_of_item(found.node.set, folds);
    }
    quantify(found);
    return found;
  }

  Item group(int depth, bool folds) {
    Item found;
    found.node.op = Pattern::Op::branch;
    if (takes("?i:")) {
      folds = true;
    } else if (takes("?!") || takes("?=")) {
      found.node.op = Pattern::Op::look;
      found.node.is_negative = text_[at_ - 1] == '!';
    } else if (!takes("?:") && text_.substr(at_).starts_with('?')) {
      refuse(fmt::format("'({}'", printable(text_.substr(at_, 3))));
    }
    found.group = alternatives(depth + 1, folds);
    if (!takes(")")) refuse("'(' without ')'");
    return found;
  }

  void quantify(Item& found) {
    const size_t begin = at_;
    uint32_t min = 1, max = 1;
    if (takes("?")) {
      min = 0;
    } else if (takes("*")) {
      min = 0, max = Pattern::kMany;
    } else if (takes("+")) {
      max = Pattern::kMany;
    } else if (takes("{")) {
      min = text_.substr(at_).starts_with(',') ? 0 : number();
      max = !takes(",") ? min : text_.substr(at_).starts_with('}') ? Pattern::kMany : number();
      if (!takes("}") || min > max || max == 0) refuse("an invalid repetition count after '{'");
    } else {
      return;
    }
    const bool is_interval = text_[begin] == '{';
    if (!is_interval && takes("+")) found.node.is_possessive = true;
    if (!is_at_end() && std::string_view("?*+{").find(text_[at_]) != std::string_view::npos) {
      refuse(fmt::format("the quantifier '{}'", printable(text_.substr(begin, at_ + 1 - begin))));
    }
    if (found.node.op == Pattern::Op::run) {
      found.node.min = min;
      found.node.max = max;
    } else if (found.node.op == Pattern::Op::branch && min == 0 && max == 1 &&
               !found.node.is_possessive) {
      found.is_optional = true;
    } else {
      refuse("a repeated group");
    }
  }

  uint32_t number() {
    uint32_t value = 0;
    const size_t begin = at_;
    while (!is_at_end() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - begin < 6) {
      value = 10 * value + static_cast<uint32_t>(text_[at_++] - '0');
    }
    if (at_ == begin) refuse("an invalid repetition count after '{'");
    return value;
  }

  void set_of_item(CharacterSet& set, bool folds) {
    if (takes("[")) {
      set_in_brackets(set, folds);
    } else if (takes(".")) {
      add_range(set, 0, 0x10FFFF);
      set.ascii[0] &= ~(uint64_t{1} << '\n');
    } else if (std::string_view("^?*+{]}").find(text_[at_]) != std::string_view::npos) {
      refuse(fmt::format("'{}'", text_[at_]));
    } else if (takes("\\")) {
      if (!class_of_escape(set)) add_one(set, escaped(), folds);
    } else {
      add_one(set, character(), folds);
    }
  }

  void add_one(CharacterSet& set, uint32_t code, bool folds) const {
    if (folds && is_letter(code)) {
      add_folded(set, code);
    } else if (folds && code >= 128) {
      refuse("a non-ASCII letter in a group that ignores case");
    } else {
      add_range(set, code, code);
    }
  }

  void set_in_brackets(CharacterSet& set, bool folds) {
    const bool is_negated = takes("^");
    if (text_.substr(at_).starts_with(']')) refuse("a set without characters");
    while (!takes("]")) {
      if (text_.substr(at_).starts_with('[') || text_.substr(at_).starts_with("&&")) {
        refuse("a set inside a set");
      }
      if (text_.substr(at_).starts_with('\\')) {
        if (folds && text_.substr(at_ + 1).starts_with('p')) {
          refuse("\\p in a group that ignores case");
        }
        ++at_;
        if (class_of_escape(set)) continue;
        --at_;
      }
      const uint32_t first = takes("\\") ? escaped() : character();
      if (text_.substr(at_).starts_with('-') && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        const uint32_t last = takes("\\") ? escaped() : character();
        if (first > last || folds) refuse("a reversed range, or a range that ignores case");
        add_range(set, first, last);
      } else {
        add_one(set, first, folds);
      }
    }
    if (!is_negated) return;
    if (folds) refuse("[^ in a group that ignores case");
    set.is_negated = true;
    for (uint64_t& bits : set.ascii) bits = ~bits;
  }

  // Behind a backslash: a class of characters. False for a character.
  bool class_of_escape(CharacterSet& set) {
    const auto add = [&set](CategorySet categories, bool is_negated) {
      add_categories(set, is_negated ? kAllCategories & ~categories : categories);
      return true;
    };
    if (takes("s")) return add(kSpaces, false);
    if (takes("S")) return add(kSpaces, true);
    if (takes("d")) return add(set_of(Category::nd), false);
    if (takes("D")) return add(set_of(Category::nd), true);
    const bool is_negated = text_.substr(at_).starts_with("P{");
    if (!takes("p{") && !takes("P{")) return false;
    const size_t end = std::min(text_.find('}', at_), text_.size());
    const std::string_view name = text_.substr(at_, end - at_);
    const CategorySet categories = categories_called(name);
    if (categories == 0 || end == text_.size()) {
      refuse(fmt::format("\\p{{{}}}", printable(name)));
    }
    at_ = end + 1;
    return add(categories, is_negated);
  }

  // Behind a backslash: one character.
  uint32_t escaped() {
    const uint32_t code = character();
    if (code == 'r') return '\r';
    if (code == 'n') return '\n';
    if (code == 't') return '\t';
    if (code == 'f') return '\f';
    if (code == 'v') return '\v';
    const bool is_itself = code < 128 && !is_letter(code) && (code < '0' || code > '9');
    if (!is_itself) refuse(fmt::format("'\\{}'", printable(text_.substr(at_ - 1, 1))));
    return code;
  }

  // Nodes, from the last to the first; `next` follows them.
  uint32_t make(const Alternatives& all, uint32_t next) {
    if (all.sequences.size() == 1) return make(all.sequences[0], next);
    Pattern::Node node{.op = Pattern::Op::branch};
    for (const Sequence& sequence : all.sequences) node.branches.push_back(make(sequence, next));
    return add(std::move(node));
  }
  uint32_t make(const Sequence& sequence, uint32_t next) {
    for (size_t i = sequence.items.size(); i-- > 0;) {
      const Item& item = sequence.items[i];
      Pattern::Node node = item.node;
      node.next = next;
      if (item.node.op == Pattern::Op::look) {
        node.branches = {make(*item.group, 0)};
      } else if (item.node.op == Pattern::Op::branch) {
        const uint32_t inner = make(*item.group, next);
        if (!item.is_optional) {
          next = inner;
          continue;
        }
        node.branches = {inner, next};
      }
      next = add(std::move(node));
    }
    return next;
  }
  uint32_t add(Pattern::Node node) {
    pattern_.nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(pattern_.nodes_.size() - 1);
  }

  std::string_view text_;
  size_t at_ = 0;
  Pattern pattern_;
};

Pattern Pattern::parse(std::string_view expression) {
  return PatternParser(expression).parse();
}

Pattern Pattern::of_text(std::string_view text) {
  std::string expression;
  for (const char c : text) {
    const bool is_special = std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos;
    if (is_special) expression += '\\';
    expression += c;
  }
  return parse(expression);
}

}  // namespace ffkit::text
