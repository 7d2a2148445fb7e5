# embed.cmake - embed(SOURCE NAME FILE): a generated C file with the bytes of FILE and a zero
# behind them, which cwi_NAME_bytes does not count, as
#   const unsigned char cwi_NAME[]; const size_t cwi_NAME_bytes;
# Its path is appended to the list SOURCE.  Run as a script it writes that file.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${FILE} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)"
         "\\1\n" bytes "${bytes}")
  file(WRITE ${OUT} "#include <stddef.h>\n\nextern const unsigned char cwi_${NAME}[];\n"
       "extern const size_t cwi_${NAME}_bytes;\n\nconst unsigned char cwi_${NAME}[] = {\n${bytes}0\n};\n"
       "const size_t cwi_${NAME}_bytes = sizeof cwi_${NAME} - 1;\n")
  return()
endif()

function(embed source name file)
  set(out ${PROJECT_BINARY_DIR}/embedded/${name}.c)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DNAME=${name} -DOUT=${out}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding ${name}" VERBATIM)
  set(${source} ${${source}} ${out} PARENT_SCOPE)
endfunction()
