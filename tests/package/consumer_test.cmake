# Run by ctest; see CMakeLists.txt.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# build_and_run(SOURCE PROGRAM EXPECTED ARGUMENTS...): a project of a user's, and what its program
# says of the data.
function(build_and_run source program expected)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${source} -B ${WORK_DIR}/${program}
      -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_BUILD_TYPE=Release ${flags})
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/${program})
  run(${WORK_DIR}/${program}/${program} ${ARGN})
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "${program} printed:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
set(flags)
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${FFCONVERT} demo ${WORK_DIR}/data --classes 3 --images 48 --val-images 6 --quiet)
build_and_run(${SOURCE_DIR} consumer "3 batches of 16 images, 48 samples" ${WORK_DIR}/data)
build_and_run(${EXAMPLES_DIR}/custom_batches custom_batches
  "48 samples of 3 classes; each target adds up to 1.000\n[a-z]+-bound: " ${WORK_DIR}/data)
if(OPENCV)
  build_and_run(${EXAMPLES_DIR}/opencv_pixels opencv_pixels "48 pictures of 64 x 64 pixels as cv::Mat" ${WORK_DIR}/data)
endif()
file(WRITE ${WORK_DIR}/table/a.bin "abcde")
file(WRITE ${WORK_DIR}/table/b.bin "xyz")
file(WRITE ${WORK_DIR}/table/table.csv "a.bin,0.5,1,2\nb.bin,0.25,3,-4.5\n")
build_and_run(${EXAMPLES_DIR}/custom_source custom_source
  "2 records, weights add up to 0.75, the first is 'a.bin' of 5 bytes" ${WORK_DIR}/table/table.csv ${WORK_DIR}/table-ff)
run(${MAKE_NUSCENES} ${WORK_DIR}/nuscenes-ff)
build_and_run(${EXAMPLES_DIR}/nuscenes nuscenes
  "6 keyframes, 24 boxes\n6 windows, 6 frames repeated" ${WORK_DIR}/nuscenes-ff mini_val)
run(${WORK_DIR}/prefix/bin/ffeval nuscenes --data ${WORK_DIR}/nuscenes-ff --split mini_val --results ${WORK_DIR}/nuscenes-ff/results.json)
run(${WORK_DIR}/prefix/bin/ffinspect verify ${WORK_DIR}/table-ff)
run(${WORK_DIR}/prefix/bin/ffinspect verify ${WORK_DIR}/data)
if(EXISTS ${WORK_DIR}/prefix/bin/fftrain)
  run(${WORK_DIR}/prefix/bin/fftrain --version)  # finds libtorch
  build_and_run(${EXAMPLES_DIR}/own_task own_task
    "best mean error [0-9.]+ .epoch [1-4].*off by [0-9.]+ in the mean of 6 pictures" ${WORK_DIR}/data ${WORK_DIR}/run)
endif()
