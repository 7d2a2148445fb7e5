# The CUDA engine: a shared object of its own, which the library opens at run time.  Where nvcc is
# not found it is left out, and everything else is as it is.
set(CROSSWISE_CUDA AUTO CACHE STRING "build the CUDA engine: ON, OFF, or AUTO, where nvcc is found")
set(CROSSWISE_CUDA_CODE "-gencode=arch=compute_80,code=sm_80;-gencode=arch=compute_90,code=[sm_90,compute_90]"
    CACHE STRING "what nvcc makes code for")

set(has_cuda OFF)
if(CROSSWISE_CUDA)
  find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
  if(NVCC)
    set(has_cuda ON)
  elseif(CROSSWISE_CUDA STREQUAL AUTO)
    message(STATUS "nvcc is not here: the CUDA engine is left out, training is on the CPU alone")
  else()
    message(FATAL_ERROR "nvcc is not here: CROSSWISE_CUDA=ON asks for the CUDA engine")
  endif()
else()
  message(STATUS "CROSSWISE_CUDA is OFF: the CUDA engine is left out")
endif()

if(has_cuda)
  # Nothing is fused but where it says so, so that samples are those of the CPU.
  set(nvcc_flags -std=c++17 -O3 -fmad=false -prec-div=false -prec-sqrt=false ${CROSSWISE_CUDA_CODE}
      -DCWI_CUDA_RELEASE="${PROJECT_VERSION}" -I${PROJECT_SOURCE_DIR}/src
      -I${PROJECT_SOURCE_DIR}/include -Xcompiler=-fPIC,-fvisibility=hidden -diag-suppress=177)
  if(NOT RANDOM123_INCLUDE_DIR STREQUAL /usr/include)
    list(APPEND nvcc_flags -isystem ${RANDOM123_INCLUDE_DIR})
  endif()
  if(CROSSWISE_WERROR)
    list(APPEND nvcc_flags -Werror all-warnings)
  endif()
  set(cuda_objects)
  foreach(name engine lister runtime)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/cuda
      COMMAND ${NVCC} ${nvcc_flags} -MD -MF ${object}.d -c ${PROJECT_SOURCE_DIR}/src/engine/cuda/${name}.cu
              -o ${object}
      DEPENDS ${PROJECT_SOURCE_DIR}/src/engine/cuda/${name}.cu DEPFILE ${object}.d
      COMMENT "Building CUDA object ${name}.o" VERBATIM)
    list(APPEND cuda_objects ${object})
  endforeach()
  set(cuda_engine ${CMAKE_CURRENT_BINARY_DIR}/crosswise-cuda.so)
  add_custom_command(OUTPUT ${cuda_engine}
    COMMAND ${NVCC} -shared -cudart static -o ${cuda_engine} ${cuda_objects}
            -Xlinker --exclude-libs=ALL -Xlinker -z,defs
    DEPENDS ${cuda_objects} COMMENT "Linking the CUDA engine" VERBATIM)
  add_custom_target(cuda ALL DEPENDS ${cuda_engine})
  install(PROGRAMS ${cuda_engine} DESTINATION ${CMAKE_INSTALL_LIBDIR}/crosswise)
endif()

# Where the command finds it once installed.
file(RELATIVE_PATH library_from_commands /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
set_source_files_properties(src/core/beside.c PROPERTIES
  COMPILE_DEFINITIONS "CWI_LIBRARY_FROM_COMMANDS=\"${library_from_commands}\"")
