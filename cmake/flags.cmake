# One interface target carries language, warnings, hardening and sanitizers for everything that is ours.
#   DR_SANITIZE   address (with undefined), thread, or empty
#   DR_COVERAGE   ON: gcov counters
#   DR_FUZZ       ON: libFuzzer programs (clang)
set(DR_SANITIZE "" CACHE STRING "address, thread or empty")
option(DR_COVERAGE "count lines" OFF)
option(DR_FUZZ "build libFuzzer programs" OFF)
set(DR_PROGRAM_DIR "" CACHE PATH "where the program goes (default: the build folder)")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Debug)
endif()
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")

add_library(dr_flags INTERFACE)
target_include_directories(dr_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(dr_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_compile_options(dr_flags INTERFACE
    -Wall -Wextra -Wpedantic -Werror -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wmissing-declarations
    -Wold-style-definition -Wformat=2 -Wundef -Wvla -Wcast-qual -Wcast-align -Wwrite-strings -Wpointer-arith -Wdouble-promotion
    -Wimplicit-fallthrough -Wswitch -Wredundant-decls -Wnested-externs
    -fno-common -fno-strict-aliasing -fstack-protector-strong
    # A decision must not depend on whether a compiler fuses a multiplication and an addition.
    -ffp-contract=off
    # Paths in assertions and logs are those of the tree, not of the machine that built it.
    -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(dr_flags INTERFACE -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init)
endif()

if(DR_SANITIZE STREQUAL "address")
    set(dr_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(DR_SANITIZE STREQUAL "thread")
    set(dr_sanitize -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT DR_SANITIZE STREQUAL "")
    message(FATAL_ERROR "DR_SANITIZE: '${DR_SANITIZE}': address, thread or empty")
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_definitions(dr_flags INTERFACE _FORTIFY_SOURCE=2)
endif()
if(DR_SANITIZE)
    target_compile_options(dr_flags INTERFACE ${dr_sanitize} -O1 -g)
    target_link_options(dr_flags INTERFACE ${dr_sanitize})
endif()
if(DR_FUZZ)
    target_compile_options(dr_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(DR_COVERAGE)
    target_compile_options(dr_flags INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(dr_flags INTERFACE --coverage)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
    set(CMAKE_C_COMPILE_OPTIONS_IPO -flto=auto -fno-fat-lto-objects)
endif()
