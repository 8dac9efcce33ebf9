// A pickle of any bytes: values, or an Error. Every value that came of it is looked at.
#include "base/bytes/pickle.h"
#include "touch.h"

using ffkit::Pickle;
using ffkit::fuzzing::touch;

namespace {

// `num_left` bounds the values that are looked at: a list may hold itself, and many may hold the
// same.
void look_at(const Pickle& pickle, Pickle::Ref ref, int depth, int& num_left) {
  if (depth > 20 || --num_left < 0) return;
  switch (pickle.kind(ref)) {
    case Pickle::Kind::bytes:
      touch(pickle.bytes(ref, "it"));
      break;
    case Pickle::Kind::text:
      touch(std::as_bytes(std::span(pickle.text(ref, "it"))));
      break;
    case Pickle::Kind::list:
    case Pickle::Kind::tuple:
    case Pickle::Kind::global:
    case Pickle::Kind::call:
    case Pickle::Kind::persistent:
      for (const Pickle::Ref item : pickle.items(ref, "it")) {
        look_at(pickle, item, depth + 1, num_left);
      }
      break;
    case Pickle::Kind::dict:
      for (const auto& [key, value] : pickle.entries(ref, "it")) {
        look_at(pickle, key, depth + 1, num_left);
        look_at(pickle, value, depth + 1, num_left);
      }
      break;
    case Pickle::Kind::integer:
      pickle.integer(ref, "it");
      break;
    case Pickle::Kind::none:
    case Pickle::Kind::boolean:
    case Pickle::Kind::real:
    case Pickle::Kind::large:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Pickle pickle;  // as the readers do: one for many
  for (const auto objects : {Pickle::Objects::refused, Pickle::Objects::as_values}) {
    try {
      pickle.parse({reinterpret_cast<const std::byte*>(data), size}, objects);
      int num_left = 1000;
      look_at(pickle, pickle.root(), 0, num_left);
      const std::string name = pickle.global_name(pickle.root());
      touch(std::as_bytes(std::span(name)));
      pickle.at(pickle.root(), "classes");
    } catch (const ffkit::Error&) {
    }
  }
  return 0;
}
