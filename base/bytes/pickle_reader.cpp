#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "bytes/pickle.h"
#include "little_endian.h"
#include "make_error.h"

namespace ffkit {
namespace {

[[noreturn]] void throw_corrupt_pickle(const std::string& message) {
  throw Error(ErrorCode::corrupt, "the pickle is broken: " + message);
}

constexpr std::array kKindNames = {
    "None",       "a bool",        "an integer", "bytes",   "a text",
    "a list",     "a tuple",       "a dict",     "a float", "an integer of more than 64 bits",
    "a function", "a call result", "a reference"};
static_assert(kKindNames.size() == static_cast<size_t>(Pickle::Kind::persistent) + 1);

}  // namespace

// The machine of Python's pickle.py: a stack of values with marks, and a memo. Opcodes are those of
// pickletools.py.
class Pickle::Parser {
 public:
  Parser(Pickle& pickle, Objects objects)
      : in_(pickle.data_),
        values_(pickle.values_),
        containers_(pickle.containers_),
        objects_(objects) {}

  Ref run() {
    for (;;) {
      const auto opcode = static_cast<unsigned char>(take(1)[0]);
      if (opcode == '.') {  // STOP
        if (stack_.size() != 1 || !marks_.empty())
          throw_corrupt_pickle("it ends in the middle of a value");
        require_value(stack_.back());
        return stack_.back();
      }
      execute(opcode);
    }
  }
  size_t num_read() const { return at_; }

 private:
  // What only lives on the stack: the two names that STACK_GLOBAL and REDUCE may see.
  static constexpr Ref kOrderedDict = 0xFFFFFFFF;

  void execute(unsigned char opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (const int version = number<uint8_t>(); version > 5) {
          throw_corrupt_pickle(
              fmt::format("it has the protocol version {}, but the newest version is 5", version));
        }
        return;
      case 0x95:  // FRAME: only tells how much to read at once
        if (number<uint64_t>() > in_.size() - at_)
          throw_corrupt_pickle("a frame is longer than the rest of the pickle");
        return;
      case '(':
        marks_.push_back(stack_.size());
        return;
      case '0':  // POP
        pop();
        return;
      case '1':  // POP_MARK
        stack_.resize(pop_mark());
        return;
      case '2':  // DUP
        stack_.push_back(top());
        return;
      case 'N':
        return push({.kind = Kind::none});
      case 0x88:
      case 0x89:
        return push({.kind = Kind::boolean, .number = opcode == 0x88 ? 1 : 0});
      case 'K':
        return push_integer(number<uint8_t>());
      case 'M':
        return push_integer(number<uint16_t>());
      case 'J':
        return push_integer(number<int32_t>());
      case 0x8a:  // LONG1
        return push_long(number<uint8_t>());
      case 'C':
        return push_data(Kind::bytes, number<uint8_t>());
      case 'B':
        return push_data(Kind::bytes, number<uint32_t>());
      case 0x8e:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        return push_data(Kind::bytes, number<uint64_t>());
      case 0x8c:
        return push_data(Kind::text, number<uint8_t>());
      case 'X':
        return push_data(Kind::text, number<uint32_t>());
      case 0x8d:
        return push_data(Kind::text, number<uint64_t>());
      case ']':
        return push_container(Kind::list);
      case 'a':
        return append(stack_.size() - 1);
      case 'e':
        return append(pop_mark());
      case 'l':
        return collect(Kind::list, pop_mark());
      case ')':
        return push_container(Kind::tuple);
      case 't':
        return collect(Kind::tuple, pop_mark());
      case 0x85:
      case 0x86:
      case 0x87: {
        const size_t count = opcode - 0x84U;
        if (stack_.size() < base() + count) throw_corrupt_pickle("a tuple has too few elements");
        return collect(Kind::tuple, stack_.size() - count);
      }
      case '}':
        return push_container(Kind::dict);
      case 's':
        if (stack_.size() < base() + 3) throw_corrupt_pickle("a dict, a key or a value is missing");
        return set_items(stack_.size() - 2);
      case 'u':
        return set_items(pop_mark());
      case 'd': {
        const size_t first = pop_mark();
        const std::vector<Ref> pairs(stack_.begin() + static_cast<ptrdiff_t>(first), stack_.end());
        stack_.resize(first);
        push_container(Kind::dict);
        stack_.insert(stack_.end(), pairs.begin(), pairs.end());
        return set_items(first + 1);
      }
      case 0x94:  // MEMOIZE
        memo_[static_cast<uint32_t>(memo_.size())] = top();
        return;
      case 'q':
        memo_[number<uint8_t>()] = top();
        return;
      case 'r':
        memo_[number<uint32_t>()] = top();
        return;
      case 'h':
        return get(number<uint8_t>());
      case 'j':
        return get(number<uint32_t>());
      case 'c':  // GLOBAL
      {
        const Ref module = line();
        return global(module, line());
      }
      case 0x93: {  // STACK_GLOBAL
        const Ref name = pop();
        return global(pop(), name);
      }
      case 'R':  // REDUCE
        return call(pop());
      default:
        if (objects_ == Objects::as_values && execute_for_objects(opcode)) return;
        throw error_of(ErrorCode::unsupported,
                       "the pickle contains more than plain values: byte {1} is the opcode "
                       "0x{0:02x}; ffkit reads only plain values",
                       opcode, at_ - 1);
    }
  }

  // Opcodes of Objects::as_values; false for one that is not known here either.
  bool execute_for_objects(unsigned char opcode) {
    switch (opcode) {
      case 'G':  // BINFLOAT, whose bytes are the other way round
        push({.kind = Kind::real,
              .number = static_cast<int64_t>(__builtin_bswap64(number<uint64_t>()))});
        return true;
      case 'Q': {  // BINPERSID
        const Ref identity = pop();
        require_value(identity);
        push_container(Kind::persistent);
        containers_.back() = {identity};
        return true;
      }
      case 0x81:  // NEWOBJ
        call(pop());
        return true;
      case 0x92:  // NEWOBJ_EX, with keywords
        pop();
        call(pop());
        return true;
      case 'b':  // BUILD: gives a state to the object below
      {
        const Ref state = pop();
        require_value(state);
        require_value(top());
        if (values_[top()].kind == Kind::call && items_of(top()).size() == 2)
          items_of(top()).push_back(state);
        return true;
      }
      case 'U':  // SHORT_BINSTRING and BINSTRING: the str of Python 2
        push_data(Kind::text, number<uint8_t>());
        return true;
      case 'T':
        push_data(Kind::text, number<uint32_t>());
        return true;
      case 0x8f:  // EMPTY_SET
        push_container(Kind::list);
        return true;
      case 0x90:  // ADDITEMS
        append(pop_mark());
        return true;
      case 0x91:  // FROZENSET
        collect(Kind::list, pop_mark());
        return true;
      default:
        return false;
    }
  }

  std::span<const std::byte> take(uint64_t count) {
    if (count > in_.size() - at_) throw_corrupt_pickle("it is cut off");
    const auto bytes = in_.subspan(at_, count);
    at_ += count;
    return bytes;
  }
  template <typename T>
  T number() {
    return load_le<T>(take(sizeof(T)).data());
  }
  void push_long(size_t num_bytes) {
    if (num_bytes > 8 && objects_ == Objects::as_values) {
      take(num_bytes);  // such as the state of a random generator
      return push({.kind = Kind::large});
    }
    if (num_bytes > 8) {
      throw Error(ErrorCode::unsupported, "the pickle contains an integer of more than 64 bits");
    }
    const auto bytes = take(num_bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < num_bytes; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    const bool is_negative = num_bytes > 0 && (static_cast<uint8_t>(bytes.back()) & 0x80) != 0;
    if (is_negative && num_bytes < 8) value |= ~uint64_t{0} << (8 * num_bytes);
    push_integer(static_cast<int64_t>(value));
  }
  // A text up to the end of its line.
  Ref line() {
    const size_t begin = at_;
    while (take(1)[0] != std::byte{'\n'}) {
    }
    return add_value(
        {.kind = Kind::text, .number = static_cast<int64_t>(begin), .num_bytes = at_ - 1 - begin});
  }

  Ref add_value(Value value) {
    values_.push_back(value);
    return static_cast<Ref>(values_.size() - 1);
  }
  void push(Value value) { stack_.push_back(add_value(value)); }
  void push_integer(int64_t value) { push({.kind = Kind::integer, .number = value}); }
  void push_data(Kind kind, uint64_t num_bytes) {
    const auto begin = static_cast<int64_t>(at_);
    take(num_bytes);
    push({.kind = kind, .number = begin, .num_bytes = num_bytes});
  }
  void push_container(Kind kind) {
    containers_.emplace_back();
    push({.kind = kind, .number = static_cast<int64_t>(containers_.size() - 1)});
  }
  std::vector<Ref>& items_of(Ref container) {
    return containers_[static_cast<size_t>(values_[container].number)];
  }

  // Below this, the stack belongs to what began before the last mark.
  size_t base() const { return marks_.empty() ? 0 : marks_.back(); }
  Ref top() const {
    if (stack_.size() <= base()) throw_corrupt_pickle("an operand is missing");
    return stack_.back();
  }
  Ref pop() {
    const Ref ref = top();
    stack_.pop_back();
    return ref;
  }
  size_t pop_mark() {
    if (marks_.empty()) throw_corrupt_pickle("a mark is missing");
    const size_t first = marks_.back();
    marks_.pop_back();
    return first;
  }
  void require_value(Ref ref) const {
    if (ref == kOrderedDict) {
      throw Error(ErrorCode::unsupported,
                  "the pickle contains a class; ffkit reads only plain values");
    }
  }

  // Takes the values from `first` on off the stack.
  std::vector<Ref> pop_from(size_t first) {
    std::vector<Ref> taken(stack_.begin() + static_cast<ptrdiff_t>(first), stack_.end());
    stack_.resize(first);
    for (const Ref ref : taken) require_value(ref);
    return taken;
  }
  void append(size_t first) {
    if (first > stack_.size() || first < base() + 1)
      throw_corrupt_pickle("a list or its element is missing");
    const std::vector<Ref> added = pop_from(first);
    if (is_object_on_top()) return;  // such as collections.deque
    std::vector<Ref>& items = items_of(container(Kind::list));
    items.insert(items.end(), added.begin(), added.end());
  }
  void set_items(size_t first) {
    if (first < base() + 1) throw_corrupt_pickle("a dict is missing");
    const std::vector<Ref> added = pop_from(first);
    if (added.size() % 2 != 0) throw_corrupt_pickle("a dict's key has no value");
    if (is_object_on_top()) return;  // such as collections.defaultdict
    std::vector<Ref>& items = items_of(container(Kind::dict));
    items.insert(items.end(), added.begin(), added.end());
  }
  Ref container(Kind kind) const {
    const Ref ref = top();
    require_value(ref);
    if (values_[ref].kind != kind)
      throw_corrupt_pickle("an item is added to a value that is not a list or dict");
    return ref;
  }
  void collect(Kind kind, size_t first) {
    std::vector<Ref> items = pop_from(first);
    push_container(kind);
    containers_.back() = std::move(items);
  }
  void get(uint32_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end())
      throw_corrupt_pickle(
          fmt::format("it refers to the memo entry {}, but this entry does not exist", number));
    stack_.push_back(found->second);
  }
  std::string text_of(Ref ref) const {
    require_value(ref);
    if (values_[ref].kind != Kind::text) throw_corrupt_pickle("a name is not a text");
    const auto data = in_.subspan(static_cast<size_t>(values_[ref].number), values_[ref].num_bytes);
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  bool is_object_on_top() const {
    const Ref ref = top();
    return ref != kOrderedDict && values_[ref].kind == Kind::call;
  }
  void call(Ref arguments) {
    require_value(arguments);
    const Ref function = pop();
    if (function == kOrderedDict && values_[arguments].kind == Kind::tuple &&
        items_of(arguments).empty()) {
      return push_container(Kind::dict);
    }
    if (function == kOrderedDict && objects_ == Objects::as_values) return make_dict(arguments);
    if (objects_ == Objects::refused) {
      throw Error(ErrorCode::unsupported,
                  "the pickle calls a function; ffkit reads only plain values");
    }
    require_value(function);
    push_container(Kind::call);
    containers_.back() = {function, arguments};
  }
  // OrderedDict of a list of pairs, as Python 2 wrote it.
  void make_dict(Ref arguments) {
    const auto has_kind = [&](Ref ref, Kind kind) { return values_[ref].kind == kind; };
    std::vector<Ref> entries;
    bool is_right = has_kind(arguments, Kind::tuple) && items_of(arguments).size() == 1 &&
                    has_kind(items_of(arguments)[0], Kind::list);
    if (is_right) {
      for (const Ref pair : items_of(items_of(arguments)[0])) {
        is_right = is_right && (has_kind(pair, Kind::list) || has_kind(pair, Kind::tuple)) &&
                   items_of(pair).size() == 2;
        if (!is_right) break;
        entries.insert(entries.end(), items_of(pair).begin(), items_of(pair).end());
      }
    }
    if (!is_right) throw_corrupt_pickle("an OrderedDict is not made of pairs");
    push_container(Kind::dict);
    containers_.back() = std::move(entries);
  }
  void global(Ref module, Ref name) {
    const std::string module_text = text_of(module);
    const std::string name_text = text_of(name);
    if (module_text == "collections" && name_text == "OrderedDict") {
      stack_.push_back(kOrderedDict);
    } else if (objects_ == Objects::as_values) {
      push_container(Kind::global);
      containers_.back() = {module, name};
    } else {
      throw error_of(ErrorCode::unsupported,
                     "the pickle refers to {:.60}.{:.60}; ffkit reads only plain values",
                     module_text, name_text);
    }
  }

  std::span<const std::byte> in_;
  size_t at_ = 0;
  std::vector<Value>& values_;
  std::vector<std::vector<Ref>>& containers_;
  Objects objects_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::map<uint32_t, Ref> memo_;  // ordered: keys that collide in a hash would take time squared
};

size_t Pickle::parse_first(std::span<const std::byte> data, Objects objects) {
  data_ = data;
  values_.clear();
  containers_.clear();
  Parser parser(*this, objects);
  root_ = parser.run();
  return parser.num_read();
}

void Pickle::parse(std::span<const std::byte> data, Objects objects) {
  const size_t num_read = parse_first(data, objects);
  if (num_read != data.size())
    throw_corrupt_pickle(fmt::format("{} bytes follow its end", data.size() - num_read));
}

const Pickle::Value& Pickle::require(Ref ref, Kind kind, std::string_view what) const {
  const Value& value = values_.at(ref);
  if (value.kind != kind) {
    throw_corrupt_pickle(fmt::format("{} is {}, not {}", what,
                                     kKindNames[static_cast<size_t>(value.kind)],
                                     kKindNames[static_cast<size_t>(kind)]));
  }
  return value;
}

int64_t Pickle::integer(Ref ref, std::string_view what) const {
  return require(ref, Kind::integer, what).number;
}
bool Pickle::boolean(Ref ref, std::string_view what) const {
  return require(ref, Kind::boolean, what).number != 0;
}
double Pickle::real(Ref ref, std::string_view what) const {
  return std::bit_cast<double>(require(ref, Kind::real, what).number);
}
std::span<const std::byte> Pickle::bytes(Ref ref, std::string_view what) const {
  return data_of(require(ref, Kind::bytes, what));
}
std::string_view Pickle::text(Ref ref, std::string_view what) const {
  const auto data = data_of(require(ref, Kind::text, what));
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}
const std::vector<Pickle::Ref>& Pickle::items(Ref ref, std::string_view what) const {
  const Kind own = kind(ref);
  const bool has_items = own == Kind::tuple || own >= Kind::global;
  const Value& value = require(ref, has_items ? own : Kind::list, what);
  return containers_[static_cast<size_t>(value.number)];
}
std::vector<std::pair<Pickle::Ref, Pickle::Ref>> Pickle::entries(Ref ref,
                                                                 std::string_view what) const {
  const auto& items = containers_[static_cast<size_t>(require(ref, Kind::dict, what).number)];
  std::vector<std::pair<Ref, Ref>> entries;
  for (size_t i = 0; i < items.size(); i += 2) entries.emplace_back(items[i], items[i + 1]);
  return entries;
}

std::string Pickle::global_name(Ref ref) const {
  if (kind(ref) != Kind::global) return {};
  const std::vector<Ref>& names = items(ref, "a global");
  return fmt::format("{}.{}", text(names[0], "a module"), text(names[1], "a name"));
}

Pickle::Ref Pickle::at(Ref dict, std::string_view key) const {
  // The last one counts, as in Python.
  const auto all = entries(dict, fmt::format("the container of '{}'", key));
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    if (kind(entry->first) == Kind::text && text(entry->first, "a key") == key)
      return entry->second;
  }
  throw_corrupt_pickle(fmt::format("the dict has no '{}'", key));
}

}  // namespace ffkit
