# cmake --install: libraries, headers and a package for find_package(ffkit CONFIG).
include(CMakePackageConfigHelpers)

set(rooms base format launch image loader nuscenes nuscenes/loader pose text text/loader converter sources)
set(targets ffkit_base ffkit_storage ffkit_format ffkit_launch ffkit_image ffkit_loader ffkit_nuscenes ffkit_nuscenes_loader ffkit_pose ffkit_text ffkit_text_loader ffkit_converter ffkit_sources)
if(FFKIT_TRAINER)
  # A component of its own: who wants the loader alone needs no libtorch.
  install(TARGETS ffkit_trainer ffkit_train_options EXPORT ffkitTrainerTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT trainer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT trainer)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/trainer/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT trainer)
  install(EXPORT ffkitTrainerTargets NAMESPACE ffkit:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ffkit COMPONENT trainer)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FfkitTorch.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ffkit COMPONENT trainer)
endif()
install(TARGETS ${targets} EXPORT ffkitTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(room IN LISTS rooms)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ffkit)
install(EXPORT ffkitTargets NAMESPACE ffkit:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ffkitConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ffkitConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ffkitConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ffkitConfig.cmake ${PROJECT_BINARY_DIR}/ffkitConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FfkitOpencv.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
