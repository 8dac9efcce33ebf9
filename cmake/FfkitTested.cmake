# What ffkit takes from the inside of other libraries, and the versions it was tested with. Other versions are refused here, with a sentence.

# libjpeg-turbo whose entropy decoder image/codec/jpeg_huffman.cpp replaces (jpegint.h).
set(FFKIT_TESTED_LIBJPEG_TURBO 2.1.5)
# libtorch whose lack of gloo's headers trainer/gloo_headers makes up for.
set(FFKIT_TESTED_GLOO_HEADERS 2.15.0 2.11.0)

# ffkit_check_jpeg_huffman(<jconfig.h> <jpegint.h>): stops where the option FFKIT_JPEG_HUFFMAN cannot be on.
function(ffkit_check_jpeg_huffman jconfig jpegint)
  set(remedy "Install libjpeg-turbo ${FFKIT_TESTED_LIBJPEG_TURBO} with its development files, or let libjpeg decode alone, which is slower: -DFFKIT_JPEG_HUFFMAN=OFF")
  if(NOT EXISTS "${jpegint}")
    message(FATAL_ERROR "FFKIT_JPEG_HUFFMAN needs libjpeg-turbo's header jpegint.h, which was not found. ${remedy}")
  endif()
  set(version "an unknown version")
  if(EXISTS "${jconfig}")
    file(STRINGS "${jconfig}" line REGEX "define LIBJPEG_TURBO_VERSION ")
    if(line MATCHES "LIBJPEG_TURBO_VERSION +([0-9.]+)")
      set(version ${CMAKE_MATCH_1})
    endif()
  endif()
  if(NOT version IN_LIST FFKIT_TESTED_LIBJPEG_TURBO)
    message(FATAL_ERROR "FFKIT_JPEG_HUFFMAN reaches into libjpeg-turbo and was tested with ${FFKIT_TESTED_LIBJPEG_TURBO}; "
      "this is ${version} (${jconfig}). ${remedy}")
  endif()
endfunction()

# ffkit_gloo_headers(<variable> <libtorch's folder> <its version> <folder of the stand-ins>): the folder of gloo's headers to be added; empty where
# libtorch brings them. Stops where the stand-ins were not tested with the version.
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
