# SPDX-License-Identifier: Apache-2.0
# Fails where CMake is older than the build wants.
cmake_minimum_required(VERSION 3.25)
