// A reader of Python pickles that only ever makes plain values: None, booleans, integers, bytes,
// texts, lists, tuples and dicts. What else a pickle may hold, above all calls of functions, is
// refused; the one exception is an empty collections.OrderedDict, which becomes a dict. Nothing is
// ever called: on request, names of functions and their arguments are values too, for the caller to
// look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ffkit {

class Pickle {
 public:
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    bytes,
    text,
    list,
    tuple,
    dict,
    // With Objects::as_values only:
    real,    // a float
    large,   // an integer of more than 64 bits, which is not kept
    global,  // items: module and name, two texts
    // items: what is called, the tuple of its arguments, and the state that its result was given,
    // where it was given one
    call,
    persistent,  // items: the identity that the pickler gave to something stored elsewhere
  };
  enum class Objects : uint8_t { refused, as_values };
  // A value by its number. Values may be shared, and a hostile pickle may make a list an element of
  // itself.
  using Ref = uint32_t;

  // Parses protocols 0 to 5 as far as they make plain values; `data` must hold one pickle and
  // nothing behind it, and must outlive this object, whose bytes and texts point into it. Throws
  // Error(unsupported) for an opcode or a global that is not allowed, Error(corrupt) for a broken
  // pickle. Takes some 30 bytes of memory for each opcode.
  void parse(std::span<const std::byte> data, Objects objects = Objects::refused);
  // The same of a pickle behind which there may be more. Returns its length.
  size_t parse_first(std::span<const std::byte> data, Objects objects = Objects::refused);

  Ref root() const { return root_; }
  // All values are below this, in the order of the pickle.
  Ref end() const { return static_cast<Ref>(values_.size()); }
  Kind kind(Ref ref) const { return values_[ref].kind; }
  // These throw Error(corrupt) when the value is of another kind. `what` names the value in
  // messages.
  bool boolean(Ref ref, std::string_view what) const;
  int64_t integer(Ref ref, std::string_view what) const;
  double real(Ref ref, std::string_view what) const;
  std::span<const std::byte> bytes(Ref ref, std::string_view what) const;
  std::string_view text(Ref ref, std::string_view what) const;
  const std::vector<Ref>& items(Ref ref,
                                std::string_view what) const;  // of any container but a dict
  std::vector<std::pair<Ref, Ref>> entries(Ref ref, std::string_view what) const;  // of a dict
  // "module.name" of a global; empty for a value of another kind.
  std::string global_name(Ref ref) const;
  // The value of `key` in a dict; throws Error(corrupt) when there is none.
  Ref at(Ref dict, std::string_view key) const;

 private:
  struct Value {
    Kind kind = Kind::none;
    // An integer or a bool, the bits of a float, where bytes and texts begin, or which container.
    int64_t number = 0;
    uint64_t num_bytes = 0;  // of bytes and texts
  };
  class Parser;

  const Value& require(Ref ref, Kind kind, std::string_view what) const;
  std::span<const std::byte> data_of(const Value& value) const {
    return data_.subspan(static_cast<size_t>(value.number), value.num_bytes);
  }

  std::span<const std::byte> data_;
  std::vector<Value> values_;
  // Items of a list or tuple; keys and values of a dict, in turn.
  std::vector<std::vector<Ref>> containers_;
  Ref root_ = 0;
};

// The pickle of the tuple (data, label), byte for byte as Python's pickle.dumps with protocol 4
// writes it.
void pickle_bytes_and_label(std::span<const std::byte> data, int64_t label,
                            std::vector<std::byte>& out);

// The pickle of {"classes": classes, "class_to_idx": {class: index}, "targets": targets}.
std::vector<std::byte> pickle_class_list(const std::vector<std::string>& classes,
                                         std::span<const int64_t> targets);

}  // namespace ffkit
