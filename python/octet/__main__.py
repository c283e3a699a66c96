# SPDX-License-Identifier: Apache-2.0
from octet._command import main

main()
