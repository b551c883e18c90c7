# Which versions find_package(prof VERSION) may ask for: this one's minor version, up to this one
# (while the version is 0.x a new minor version may rename calls), or a range that this one is in.
get_filename_component(header "${CMAKE_CURRENT_LIST_FILE}" REALPATH)
get_filename_component(header "${header}/../../../../include/prof.h" ABSOLUTE)
file(STRINGS "${header}" line REGEX "^#define PROF_VERSION ")
string(REGEX REPLACE ".*\"(([0-9]+\\.[0-9]+)\\.[0-9]+)\".*" "\\1" PACKAGE_VERSION "${line}")
set(minor "${CMAKE_MATCH_2}")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(PACKAGE_FIND_VERSION_RANGE)
    if(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION_MIN AND
       (PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION_MAX OR
        (PACKAGE_FIND_VERSION_RANGE_MAX STREQUAL "INCLUDE" AND
         PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION_MAX)))
        set(PACKAGE_VERSION_COMPATIBLE TRUE)
    endif()
elseif(NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION AND
       "${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR}" VERSION_EQUAL minor)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
    if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
        set(PACKAGE_VERSION_EXACT TRUE)
    endif()
endif()
