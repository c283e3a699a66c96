# SPDX-License-Identifier: Apache-2.0
# The front door. Every command first installs what is missing (tools/setup); nothing is fetched when all is there.
#   OCTET_TRAIN=OFF   build without LibTorch       OCTET_WERROR=ON   warnings are errors (CI sets it)
#   OCTET_CUDA=ON     train on CUDA devices (Torch_ROOT names a LibTorch with CUDA; docs/models.md)
#   TENSORRT_ROOT=DIR build with TensorRT too (docs/engine.md)
#   PREFIX=DIR        where install puts it (/usr/local); DESTDIR=DIR in front of that, for packages
#   DATA=DIR          demo on the real Fashion-MNIST in DIR instead of the generated images; demo-bert on IMDB's reviews
OCTET_TRAIN ?= ON
OCTET_WERROR ?= OFF
DATA ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
OCTET_CUDA ?= OFF
export OCTET_TRAIN

release := build/release
options := -DOCTET_TRAIN=$(OCTET_TRAIN) -DOCTET_WERROR=$(OCTET_WERROR) -DOCTET_CUDA=$(OCTET_CUDA)

.PHONY: configure build build-all install wheel package demo demo-bert test test-long bench format lint lint-all clean help
.DEFAULT_GOAL := build

configure:
	@tools/setup
	@mkdir -p build
	@cmake --preset release $(options) >$(release).log 2>&1 || { cat $(release).log; exit 1; }

build: configure ## library, command and training component in build/release
	cmake --build $(release) -j $(JOBS) --target product

build-all: configure ## these with tests, fuzz replays, examples and benchmarks
	cmake --build $(release) -j $(JOBS)

install: build ## library, command, headers and training component under PREFIX
	cmake --install $(release) --prefix $(PREFIX)

wheel: build ## a Python package with the command, in build/dist
	@tools/setup --package
	@tools/setup-peers >/dev/null
	tools/setup-peers --run tools/make_wheel $(release) build/dist

package: build ## .tar.gz, .deb and the wheel, checksums and a bill of materials, in build/dist
	@tools/setup --package
	rm -rf build/dist
	@mkdir -p build/dist
	cd $(release) && cpack -B $(CURDIR)/build/dist >cpack.log 2>&1 || { cat cpack.log; exit 1; }
	rm -rf build/dist/_CPack_Packages
	@tools/setup-peers >/dev/null
	tools/setup-peers --run tools/make_wheel $(release) build/dist >/dev/null
	tools/bill_of_materials build/dist/octet.cdx.json
	cd build/dist && sha256sum * >SHA256SUMS && cat SHA256SUMS

demo: build ## train, quantize, check and run a network; one table and report.html
	tools/demo $(DATA)

demo-bert: build ## the same of a BERT on film reviews, in some minutes
	tools/demo-bert $(if $(DATA),'$(DATA)')

test: ## everything that CI runs: build, lint, sanitized tests, all tests
	@tools/setup --test
	@$(MAKE) --no-print-directory build-all
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test-asan test-tsan
	ctest --test-dir $(release) -j $(JOBS) --timeout 900 --output-on-failure

.PHONY: test-asan test-tsan
# Some tests under the address and undefined-behaviour sanitizers, or under the thread sanitizer.
test-asan: sanitizer := asan
test-asan: label := sanitized
test-tsan: sanitizer := tsan
test-tsan: label := thread_sanitized
test-asan test-tsan:
	@tools/setup --test
	@mkdir -p build
	@cmake --preset $(sanitizer) -DOCTET_WERROR=$(OCTET_WERROR) -DOCTET_BENCH=OFF >build/$(sanitizer).log 2>&1 || \
	  { cat build/$(sanitizer).log; exit 1; }
	cmake --build build/$(sanitizer) -j $(JOBS) --target $(label)_tests
	ctest --test-dir build/$(sanitizer) -L '^$(label)$$' -j $(JOBS) --timeout 900 --output-on-failure

test-long: ## what takes hours: all tests sanitized, long variants, an hour of each fuzz target
	@tools/setup --test
	@$(MAKE) --no-print-directory build-all
	cmake --preset asan -DOCTET_BENCH=OFF
	cmake --build build/asan -j $(JOBS)
	OCTET_LONG=1 ctest --test-dir build/asan -j $(JOBS) --timeout 7200 --output-on-failure
	OCTET_LONG=1 ctest --test-dir $(release) -j $(JOBS) --timeout 7200 --output-on-failure
	tools/fuzz

bench: build-all ## every benchmark, with the peers side by side
	@tools/setup-peers >/dev/null
	tools/bench

format: ## rewrite the sources with clang-format
	@tools/setup --test
	git ls-files -co --exclude-standard '*.c' '*.cc' '*.h' | xargs clang-format-14 -i

lint: ## include order, formatting, clang-tidy on changed files
	@tools/setup --test
	tools/lint

lint-all: ## the same with clang-tidy on the whole tree
	@tools/setup --test
	tools/lint --all

clean: ## remove what was built (not what was downloaded)
	rm -rf build

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-12s %s\n", $$1, $$2}'
