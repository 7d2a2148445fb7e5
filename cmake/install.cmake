# What `cmake --install` puts where: the command and its manual page, the library in two kinds,
# the header, and the files by which pkg-config and find_package find them.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/crosswise)

install(TARGETS crosswise)
install(FILES docs/crosswise.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES include/crosswise/crosswise.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/crosswise)

# Two export sets, because only the static library needs the libraries below it to be found.
foreach(kind shared static)
  install(TARGETS crosswise_${kind} EXPORT crosswise_${kind})
  install(EXPORT crosswise_${kind} NAMESPACE crosswise:: FILE crosswise_${kind}.cmake
          DESTINATION ${package_folder})
endforeach()

set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
configure_package_config_file(cmake/crosswiseConfig.cmake.in crosswiseConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(crosswiseConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/crosswiseConfig.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/crosswiseConfigVersion.cmake DESTINATION ${package_folder})

# The pkg-config file finds its prefix from its own place, so that any --prefix is right.
set(pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /prefix/${pc_folder} /prefix)
configure_file(cmake/crosswise.pc.in crosswise.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/crosswise.pc DESTINATION ${pc_folder})
