# The target prof::prof: where prof.h is, and what a program that has it links. One file of the
# program defines PROF_IMPLEMENTATION. `make install` puts this into PREFIX/lib/cmake/prof.
set(PROF_API "" CACHE STRING "What stands before prof.h's declarations, for one profiler in a \
program and its shared libraries: see PROF_API in prof.h")
if(NOT TARGET prof::prof)
    if(NOT PROF_INCLUDE_DIR)
        get_filename_component(PROF_INCLUDE_DIR "${CMAKE_CURRENT_LIST_FILE}" REALPATH)
        get_filename_component(PROF_INCLUDE_DIR "${PROF_INCLUDE_DIR}/../../../../include" ABSOLUTE)
    endif()
    find_package(Threads REQUIRED)
    add_library(prof::prof INTERFACE IMPORTED GLOBAL)
    target_include_directories(prof::prof INTERFACE "${PROF_INCLUDE_DIR}")
    if(PROF_API)
        target_compile_definitions(prof::prof INTERFACE "PROF_API=${PROF_API}")
    endif()
    target_link_libraries(prof::prof INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
endif()
