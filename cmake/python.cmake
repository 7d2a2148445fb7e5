# What a wheel carries: the library and the command inside the package, and nothing else.
set_target_properties(crosswise_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(crosswise PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
target_link_options(crosswise_shared PRIVATE -Wl,-s)
target_link_options(crosswise PRIVATE -Wl,-s)
install(TARGETS crosswise_shared LIBRARY DESTINATION crosswise/lib COMPONENT python)
install(TARGETS crosswise RUNTIME DESTINATION crosswise/bin COMPONENT python)
