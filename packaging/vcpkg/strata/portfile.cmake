# An overlay port of the checkout that it lies in: vcpkg install strata --overlay-ports=packaging/vcpkg. Without the LLVM device,
# whose plugin wants the system's LLVM 19, and without `strata viz --serve`.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  INVERTED_FEATURES
    tbb CMAKE_DISABLE_FIND_PACKAGE_TBB
    zlib CMAKE_DISABLE_FIND_PACKAGE_ZLIB
    onnx CMAKE_DISABLE_FIND_PACKAGE_protozero
    opencl CMAKE_DISABLE_FIND_PACKAGE_OpenCL)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${feature_options} -DSTRATA_PYTHON=OFF -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON
          -DCMAKE_DISABLE_FIND_PACKAGE_httplib=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/strata)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES strata AUTO_CLEAN)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
     "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
