#include <errno.h>
#include <fmt/format.h>
#include <locale.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>
#include <stdexcept>
#include <system_error>

#include <ffkit/base/error.h>

#include "make_error.h"
#include "printable.h"

namespace ffkit {

std::string place_of(const ErrorContext& context) {
  std::string text;
  if (!context.path.empty()) text += context.path + ": ";
  if (context.record >= 0) text += fmt::format("record {}: ", context.record);
  if (context.offset >= 0) text += fmt::format("offset {}: ", context.offset);
  return text;
}

namespace {

// glibc has names from 2.32 on (strerrorname_np).
struct ErrnoName {
  int value;
  const char* name;
};
#define FFKIT_ERRNO(value) \
  { value, #value }
// clang-format off
constexpr ErrnoName kErrnoNames[] = {
    FFKIT_ERRNO(EPERM), FFKIT_ERRNO(ENOENT), FFKIT_ERRNO(ESRCH), FFKIT_ERRNO(EINTR),
    FFKIT_ERRNO(EIO), FFKIT_ERRNO(ENXIO), FFKIT_ERRNO(E2BIG), FFKIT_ERRNO(ENOEXEC),
    FFKIT_ERRNO(EBADF), FFKIT_ERRNO(ECHILD), FFKIT_ERRNO(EAGAIN), FFKIT_ERRNO(ENOMEM),
    FFKIT_ERRNO(EACCES), FFKIT_ERRNO(EFAULT), FFKIT_ERRNO(ENOTBLK), FFKIT_ERRNO(EBUSY),
    FFKIT_ERRNO(EEXIST), FFKIT_ERRNO(EXDEV), FFKIT_ERRNO(ENODEV), FFKIT_ERRNO(ENOTDIR),
    FFKIT_ERRNO(EISDIR), FFKIT_ERRNO(EINVAL), FFKIT_ERRNO(ENFILE), FFKIT_ERRNO(EMFILE),
    FFKIT_ERRNO(ENOTTY), FFKIT_ERRNO(ETXTBSY), FFKIT_ERRNO(EFBIG), FFKIT_ERRNO(ENOSPC),
    FFKIT_ERRNO(ESPIPE), FFKIT_ERRNO(EROFS), FFKIT_ERRNO(EMLINK), FFKIT_ERRNO(EPIPE),
    FFKIT_ERRNO(EDOM), FFKIT_ERRNO(ERANGE), FFKIT_ERRNO(EDEADLK), FFKIT_ERRNO(ENAMETOOLONG),
    FFKIT_ERRNO(ENOLCK), FFKIT_ERRNO(ENOSYS), FFKIT_ERRNO(ENOTEMPTY), FFKIT_ERRNO(ELOOP),
    FFKIT_ERRNO(ENOMSG), FFKIT_ERRNO(EIDRM), FFKIT_ERRNO(ECHRNG), FFKIT_ERRNO(EL2NSYNC),
    FFKIT_ERRNO(EL3HLT), FFKIT_ERRNO(EL3RST), FFKIT_ERRNO(ELNRNG), FFKIT_ERRNO(EUNATCH),
    FFKIT_ERRNO(ENOCSI), FFKIT_ERRNO(EL2HLT), FFKIT_ERRNO(EBADE), FFKIT_ERRNO(EBADR),
    FFKIT_ERRNO(EXFULL), FFKIT_ERRNO(ENOANO), FFKIT_ERRNO(EBADRQC), FFKIT_ERRNO(EBADSLT),
    FFKIT_ERRNO(EBFONT), FFKIT_ERRNO(ENOSTR), FFKIT_ERRNO(ENODATA), FFKIT_ERRNO(ETIME),
    FFKIT_ERRNO(ENOSR), FFKIT_ERRNO(ENONET), FFKIT_ERRNO(ENOPKG), FFKIT_ERRNO(EREMOTE),
    FFKIT_ERRNO(ENOLINK), FFKIT_ERRNO(EADV), FFKIT_ERRNO(ESRMNT), FFKIT_ERRNO(ECOMM),
    FFKIT_ERRNO(EPROTO), FFKIT_ERRNO(EMULTIHOP), FFKIT_ERRNO(EDOTDOT), FFKIT_ERRNO(EBADMSG),
    FFKIT_ERRNO(EOVERFLOW), FFKIT_ERRNO(ENOTUNIQ), FFKIT_ERRNO(EBADFD), FFKIT_ERRNO(EREMCHG),
    FFKIT_ERRNO(ELIBACC), FFKIT_ERRNO(ELIBBAD), FFKIT_ERRNO(ELIBSCN), FFKIT_ERRNO(ELIBMAX),
    FFKIT_ERRNO(ELIBEXEC), FFKIT_ERRNO(EILSEQ), FFKIT_ERRNO(ERESTART), FFKIT_ERRNO(ESTRPIPE),
    FFKIT_ERRNO(EUSERS), FFKIT_ERRNO(ENOTSOCK), FFKIT_ERRNO(EDESTADDRREQ), FFKIT_ERRNO(EMSGSIZE),
    FFKIT_ERRNO(EPROTOTYPE), FFKIT_ERRNO(ENOPROTOOPT), FFKIT_ERRNO(EPROTONOSUPPORT),
    FFKIT_ERRNO(ESOCKTNOSUPPORT), FFKIT_ERRNO(EPFNOSUPPORT), FFKIT_ERRNO(EAFNOSUPPORT),
    FFKIT_ERRNO(EADDRINUSE), FFKIT_ERRNO(EADDRNOTAVAIL), FFKIT_ERRNO(ENETDOWN),
    FFKIT_ERRNO(ENETUNREACH), FFKIT_ERRNO(ENETRESET), FFKIT_ERRNO(ECONNABORTED),
    FFKIT_ERRNO(ECONNRESET), FFKIT_ERRNO(ENOBUFS), FFKIT_ERRNO(EISCONN), FFKIT_ERRNO(ENOTCONN),
    FFKIT_ERRNO(ESHUTDOWN), FFKIT_ERRNO(ETOOMANYREFS), FFKIT_ERRNO(ETIMEDOUT),
    FFKIT_ERRNO(ECONNREFUSED), FFKIT_ERRNO(EHOSTDOWN), FFKIT_ERRNO(EHOSTUNREACH),
    FFKIT_ERRNO(EALREADY), FFKIT_ERRNO(EINPROGRESS), FFKIT_ERRNO(ESTALE), FFKIT_ERRNO(EUCLEAN),
    FFKIT_ERRNO(ENOTNAM), FFKIT_ERRNO(ENAVAIL), FFKIT_ERRNO(EISNAM), FFKIT_ERRNO(EREMOTEIO),
    FFKIT_ERRNO(EDQUOT), FFKIT_ERRNO(ENOMEDIUM), FFKIT_ERRNO(EMEDIUMTYPE), FFKIT_ERRNO(ECANCELED),
    FFKIT_ERRNO(ENOKEY), FFKIT_ERRNO(EKEYEXPIRED), FFKIT_ERRNO(EKEYREVOKED),
    FFKIT_ERRNO(EKEYREJECTED), FFKIT_ERRNO(EOWNERDEAD), FFKIT_ERRNO(ENOTRECOVERABLE),
    FFKIT_ERRNO(ERFKILL), FFKIT_ERRNO(EOPNOTSUPP), FFKIT_ERRNO(EHWPOISON)};
// clang-format on
#undef FFKIT_ERRNO

// "No such file or directory (ENOENT)", in English whatever the locale is.
std::string errno_words(int value) {
  // Never freed: errors may be made while the process ends.
  static const locale_t untranslated = newlocale(LC_ALL_MASK, "C", nullptr);
  const auto* const found = std::ranges::find(kErrnoNames, value, &ErrnoName::value);
  if (found == std::end(kErrnoNames)) return fmt::format("unknown error ({})", value);
  return fmt::format("{} ({})", strerror_l(value, untranslated), found->name);
}

std::string compose(const std::string& places, const std::string& message,
                    const ErrorContext& context, OptionStyle style) {
  std::string text = places + place_of(context) + with_option_names(message, style);
  if (context.errno_value != 0) {
    text += ": " + errno_words(context.errno_value);
  }
  if (!context.remedy.empty()) text += "; " + with_option_names(context.remedy, style);
  // Names of files and of archives' members may hold anything; a message is one line.
  return printable(without_marks(text));
}

[[noreturn]] void not_enough_memory(const std::filesystem::path& path, int64_t record,
                                    const char* remedy) {
  throw Error(ErrorCode::io,
              fmt::format("there is not enough memory{}", record < 0 ? "" : " for the record"),
              {.path = path.string(), .record = record, .errno_value = ENOMEM, .remedy = remedy});
}

}  // namespace

Error::Error(ErrorCode code, const std::string& message, ErrorContext context)
    : Error(code, "", message, std::move(context)) {}

Error::Error(ErrorCode code, const std::string& places, const std::string& message,
             ErrorContext context)
    : std::runtime_error(compose(places, message, context, OptionStyle::field)),
      code_(code),
      places_(places),
      message_(message),
      context_(std::move(context)) {
  context_.path = without_marks(context_.path);
}

std::string Error::text(OptionStyle style) const {
  return compose(places_, message_, context_, style);
}

Error Error::with_message(const std::string& message) const {
  return {code_, places_, message, context_};
}

Error Error::with_subject(ErrorSubject subject) const {
  ErrorContext context = context_;
  context.subject = subject;
  return {code_, places_, message_, std::move(context)};
}

Error Error::with_remedy(const std::string& remedy) const {
  ErrorContext context = context_;
  context.remedy = remedy;
  return {code_, places_, message_, std::move(context)};
}

Error Error::within(const ErrorContext& outer) const {
  ErrorContext context = context_;
  std::string places = places_;
  if (!context.path.empty() && context.path != without_marks(outer.path)) {
    places = place_of(outer) + places;
  } else {
    if (context.path.empty()) context.path = outer.path;
    if (context.record < 0) context.record = outer.record;
    if (context.offset < 0) context.offset = outer.offset;
  }
  if (context.errno_value == 0) context.errno_value = outer.errno_value;
  if (context.subject == ErrorSubject::unknown) context.subject = outer.subject;
  if (context.name.empty()) context.name = outer.name;
  if (context.remedy.empty()) context.remedy = outer.remedy;
  return {code_, places, message_, std::move(context)};
}

Error error_at(const std::filesystem::path& path, ErrorCode code, const std::string& message) {
  return {code, message, {.path = path.string()}};
}

Error dataset_error(const std::filesystem::path& path, ErrorCode code, const std::string& message) {
  return error_at(path, code, message).with_subject(ErrorSubject::dataset);
}

Error checkpoint_error(const std::filesystem::path& path, ErrorCode code,
                       const std::string& message) {
  return error_at(path, code, message).with_subject(ErrorSubject::checkpoint);
}

Error argument_error(const std::string& name, const std::string& message) {
  return {ErrorCode::invalid_argument, message, {.subject = ErrorSubject::argument, .name = name}};
}

Error io_error_at(const std::filesystem::path& path, const std::string& message, int errno_value) {
  return {ErrorCode::io, message, {.path = path.string(), .errno_value = errno_value}};
}

std::string remedy_of_errno(int errno_value) {
  if (errno_value == EFBIG) return "raise the limit on the size of files (ulimit -f)";
  return errno_value == ENOSPC || errno_value == EDQUOT ? "free some space" : "";
}

void require_done(const std::error_code& error, const std::filesystem::path& path,
                  const std::string& message) {
  if (error) throw io_error_at(path, message, error.value());
}

bool is_out_of_memory(const Error& error) {
  return error.context().errno_value == ENOMEM;
}

void rethrow_as_error(const std::filesystem::path& path, int64_t record, const char* remedy) {
  try {
    throw;
  } catch (const Error& error) {
    // Of a function that knows no file.
    if (is_out_of_memory(error) && error.context().path.empty())
      not_enough_memory(path, record, remedy);
    throw;
  } catch (const std::bad_alloc&) {
    not_enough_memory(path, record, remedy);
  } catch (const std::length_error&) {  // more elements than any container may have
    not_enough_memory(path, record, remedy);
  } catch (const std::filesystem::filesystem_error& error) {
    const int number = error.code().value();
    throw Error(number == ENOENT || number == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                "the path cannot be examined",
                {.path = (error.path1().empty() ? path : error.path1()).string(),
                 .record = record,
                 .errno_value = number,
                 .remedy = "check the path and its permissions"});
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io, "the operating system refused the request",
                {.path = path.string(), .record = record, .errno_value = error.code().value()});
  }
}

}  // namespace ffkit
