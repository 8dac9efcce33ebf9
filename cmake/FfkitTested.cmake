# What ffkit takes from the inside of other libraries, and the versions that it fits. What does not
# fit is left out, or refused, with a sentence.

# libtorch whose lack of gloo's headers trainer/gloo_headers makes up for.
set(FFKIT_TESTED_GLOO_HEADERS 2.15.0 2.11.0)

# ffkit_check_jpeg_huffman(<variable> <jconfig.h> <jpegint.h>): whether ffkit's Huffman decoder can
# be hooked into this libjpeg-turbo, whose inside has had the entry point for it since 2.1. The
# decoder checks itself with a picture before its first use, too, and libjpeg decodes alone where
# that fails. Tested with 2.1.5 and 3.1.3.
function(ffkit_check_jpeg_huffman variable jconfig jpegint)
  set(${variable} OFF PARENT_SCOPE)
  set(off "libjpeg does all the decoding, which is slower (with -DFFKIT_JPEG_HUFFMAN=OFF, this message is not printed)")
  if(NOT EXISTS "${jpegint}")
    message(WARNING "ffkit's Huffman decoder needs libjpeg-turbo's header jpegint.h, which was not found: ${off}")
    return()
  endif()
  set(version "an unknown version")
  if(EXISTS "${jconfig}")
    file(STRINGS "${jconfig}" line REGEX "define LIBJPEG_TURBO_VERSION ")
    if(line MATCHES "LIBJPEG_TURBO_VERSION +([0-9.]+)")
      set(version ${CMAKE_MATCH_1})
    endif()
  endif()
  if(NOT version MATCHES "^(2[.]1|3)[.]")
    message(WARNING "ffkit's Huffman decoder fits libjpeg-turbo 2.1 and 3; this is ${version} (${jconfig}): ${off}")
    return()
  endif()
  set(${variable} ON PARENT_SCOPE)
endfunction()

# ffkit_gloo_headers(<variable> <libtorch's folder> <its version> <folder of the stand-ins>): the
# folder of gloo's headers to be added; empty where libtorch brings them. Stops where the stand-ins
# were not tested with the version.
function(ffkit_gloo_headers variable torch_root version stand_ins)
  if(EXISTS ${torch_root}/include/gloo/context.h)
    set(${variable} "" PARENT_SCOPE)
    return()
  endif()
  if(NOT version IN_LIST FFKIT_TESTED_GLOO_HEADERS)
    message(FATAL_ERROR "libtorch ${version} (${torch_root}) comes without gloo's headers, which its own include, and ffkit's stand-ins for them were "
      "tested with libtorch ${FFKIT_TESTED_GLOO_HEADERS} only. Use that one (tools/setup installs it), put gloo's headers into "
      "${torch_root}/include/gloo, or build without the trainer: -DFFKIT_TRAINER=OFF")
  endif()
  set(${variable} ${stand_ins} PARENT_SCOPE)
endfunction()
