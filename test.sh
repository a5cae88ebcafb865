#!/usr/bin/env bash
# Everything that must hold. Plain: on a machine with a Rust toolchain and Python 3 and nothing else.
# --all: also what needs more: the packed crates, builds without default features, PyTorch, PyMC, NumPyro, alchemlyb, R, a browser.
set -euo pipefail
cd "$(dirname "$0")"

all=false
for argument in "$@"; do
    case $argument in
        --all) all=true ;;
        *) echo "usage: ./test.sh [--all]" >&2; exit 2 ;;
    esac
done

# Property tests try the same inputs on every machine here; a plain `cargo test` looks for new ones.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20}

# A first build has nothing to build upon, and is faster for not keeping what a second one would.
[ -d "${CARGO_TARGET_DIR:-target}" ] || export CARGO_INCREMENTAL=0

summary=""
stage() {
    local name=$1 start=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    if ! "$@"; then
        printf '\n%s== FAILED: %s after %d s\n' "$summary" "$name" "$((SECONDS - start))" >&2
        exit 1
    fi
    summary+=$(printf '%6d s  %s' "$((SECONDS - start))" "$name")$'\n'
}

# All features from the beginning where they are asked for at all: another set of them would build everything again.
extras=""
if $all; then extras="--features noisewright/dual,noisewright/ndarray,noisewright/arrow"; fi

# What is built to see that it builds, or to read a few rows, need not be fast.
unoptimised=(--config 'profile.dev.opt-level=0' --config 'profile.dev.package.noisewright.opt-level=0')

rust_tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --workspace $extras --no-fail-fast
    else
        cargo test --workspace $extras --lib --bins --tests --examples --no-fail-fast
    fi
}

python_environment() {
    if [ ! -x .venv/bin/python ]; then
        python3 -m venv .venv || {
            echo "python3 cannot make a virtual environment: install its venv module (python3-venv on Debian)" >&2
            return 1
        }
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        -r tests/oracle/requirements.txt -r tests/python/requirements.txt
}

# It waits for the network, not for a core: it is made while the crates are built.
python_environment_begun() {
    environment_log=$(mktemp)
    python_environment >"$environment_log" 2>&1 &
    environment=$!
}

python_environment_made() {
    wait "$environment" || { cat "$environment_log" >&2; return 1; }
}

# The package in place, from libraries that the tests of the crates have built already: built by itself it would have other
# features of its dependencies, and build them all again. `wheel` has what users install.
python_package() {
    local built=${CARGO_TARGET_DIR:-target}/debug/lib_core
    cargo build --quiet --workspace $extras --lib --tests || return 1
    for library in "$built".so "$built".dylib; do
        [ ! -e "$library" ] || cp "$library" python/noisewright/_core.abi3.so
    done
    .venv/bin/python -c 'import pathlib, sysconfig
pathlib.Path(sysconfig.get_path("purelib"), "noisewright.pth").write_text(str(pathlib.Path("python").resolve()))'
}

# Tests of Python in as many processes as there are cores, then those that compare with a clock, alone.
python_tests() {
    .venv/bin/python -m pytest -q -n auto --dist worksteal -m "not alone" "$@" &&
    .venv/bin/python -m pytest -q -m alone "$@"
}

# The command itself is there: its own tests have built it.
oracle_tests() {
    NOISEWRIGHT="$PWD/${CARGO_TARGET_DIR:-target}/debug/noisewright" python_tests tests/oracle
}

documentation() {
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace $extras --no-deps --quiet
}

# Combinations of features that somebody may choose; all of them together have been linted and tested above. (A stage is asked for
# its status, so that only `&&` ends it early.)
features() {
    cargo check --quiet -p noisewright --no-default-features &&
    cargo check --quiet -p noisewright --no-default-features --features parallel &&
    cargo check --quiet -p noisewright --no-default-features --features model-file &&
    cargo check --quiet -p noisewright --no-default-features --features dual,ndarray,arrow &&
    cargo check --quiet -p noisewright-data --no-default-features &&
    cargo check --quiet -p noisewright-cli --no-default-features &&
    cargo check --quiet -p noisewright-lab --no-default-features
}

# What would be uploaded builds by itself. Cargo unpacks a crate once for every version, so that it would build what was
# packed here before under the same number: those unpackings go first.
packages() {
    rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/{src,cache}/-*/noisewright*
    CARGO_PROFILE_DEV_DEBUG=false cargo package --quiet --workspace --allow-dirty "${unoptimised[@]}" \
        --exclude noisewright-systems --exclude noisewright-bindings --exclude noisewright-python --exclude noisewright-speed --exclude noisewright-validation
}

# The wheel that `pip install .` builds, in an environment where nothing else of ours is. (What is optimised across crates at the
# end takes as long as the rest, and is no other package.)
wheel() {
    rm -rf .venv/wheel && python3 -m venv .venv/wheel &&
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 .venv/bin/maturin build --quiet --out .venv/wheel/built &&
    .venv/wheel/bin/python -m pip install --quiet --disable-pip-version-check .venv/wheel/built/*.whl &&
    (cd .venv/wheel && bin/python -c 'import noisewright as nw
print(nw.fit(*nw.load_example("old-faithful"), seed=1))')
}

pytorch() {
    .venv/bin/python -c 'import torch' 2>/dev/null ||
        .venv/bin/python -m pip install --quiet --disable-pip-version-check torch
    .venv/bin/python -m pytest -q tests/python -k torch
}

# Packages whose models and data ours take, in an environment of their own: their demands on NumPy and pandas are theirs alone.
neighbours() {
    local folder=.venv/neighbours
    [ -x $folder/bin/python ] || python3 -m venv $folder || return 1
    $folder/bin/python -m pip install --quiet --disable-pip-version-check \
        pytest scipy pandas matplotlib alchemlyb alchemtest pymbar pymc numpyro &&
    PYTHONPATH=python $folder/bin/python -m pytest -q tests/python/test_neighbours.py tests/python/test_probabilistic.py \
        tests/python/test_alchemtest.py
}

# The lab in Chromium. Without a browser, and without the means to install one, its server has been tested above.
browser() {
    if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
        command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] &&
            apt-get update --quiet --quiet >/dev/null 2>&1 &&
            apt-get install --quiet --quiet --yes --no-install-recommends chromium chromium-driver >/dev/null 2>&1
    fi
    if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
        echo "skipped: chromium and chromium-driver are not here and could not be installed; the lab's server was tested above"
        return 0
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/browser/requirements.txt &&
    NOISEWRIGHT="$PWD/${CARGO_TARGET_DIR:-target}/debug/noisewright" .venv/bin/python -m pytest -q tests/browser
}

# Dask clusters of real processes, files of Parquet, and object storage on the loopback.
cluster() {
    local folder=.venv/cluster target="${CARGO_TARGET_DIR:-$PWD/target}"
    [ -x $folder/bin/python ] || python3 -m venv $folder || return 1
    $folder/bin/python -m pip install --quiet --disable-pip-version-check \
        pytest numpy matplotlib "dask[dataframe,distributed]" pyarrow "moto[server]" s3fs &&
    cargo build --quiet -p noisewright-cli --features object-store --target-dir "$target/object-store" "${unoptimised[@]}" &&
    NOISEWRIGHT_OBJECT_STORE="$target/object-store/debug/noisewright" NOISEWRIGHT="$target/debug/noisewright" \
        PYTHONPATH=python $folder/bin/python -m pytest -q tests/python/test_cluster_*.py tests/python/test_simulations.py
}

# R's numbers made anew, and the package against them. Without R, and without the means to install it, there is nothing to compare.
survival() {
    if ! Rscript -e 'library(survival)' >/dev/null 2>&1; then
        command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] &&
            apt-get update --quiet --quiet >/dev/null 2>&1 &&
            apt-get install --quiet --quiet --yes --no-install-recommends r-base-core r-cran-survival >/dev/null 2>&1
    fi
    if ! Rscript -e 'library(survival)' >/dev/null 2>&1; then
        echo "skipped: R with its package survival is not here and could not be installed; the committed numbers were compared above"
        return 0
    fi
    local folder
    folder=$(mktemp -d) && Rscript tests/clogit/reference.R "$folder" &&
        CLOGIT_NUMBERS="$folder" .venv/bin/python -m pytest -q tests/python/test_clogit.py
}

# The R package: its crate, then the package as it would be handed out, checked by R, with the command beside it.
r_package() {
    local packages="codetools testthat generics jsonlite knitr rmarkdown posterior coda bridgesampling"
    local missing="quit(status = !all(vapply(commandArgs(TRUE), requireNamespace, NA, quietly = TRUE)))"
    if ! Rscript -e "$missing" $packages >/dev/null 2>&1; then
        command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] &&
            apt-get update --quiet --quiet >/dev/null 2>&1 &&
            apt-get install --quiet --quiet --yes --no-install-recommends r-base-dev pandoc $(printf 'r-cran-%s ' $packages) >/dev/null 2>&1
    fi
    if ! Rscript -e "$missing" $packages >/dev/null 2>&1; then
        echo "skipped: R with its packages $packages is not here and could not be installed"
        return 0
    fi
    local folder=${CARGO_TARGET_DIR:-$PWD/target}/r-package
    rm -rf "$folder" && mkdir -p "$folder" &&
    (cd r/src/rust && cargo fmt -- --check && cargo clippy --quiet --locked --target-dir "$folder/../r" -- -D warnings) &&
    export NOISEWRIGHT_PROFILE=dev NOISEWRIGHT_TARGET_DIR="$folder/target" &&
    r/package.sh "$folder" &&
    (cd "$folder" && NOISEWRIGHT="$folder/../debug/noisewright" _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual noisewright_*.tar.gz) &&
    ! grep -E "(ERROR|WARNING)$|^Status: .*(ERROR|WARNING)" "$folder/noisewright.Rcheck/00check.log"
}

python_environment_begun
stage "format" cargo fmt --all -- --check
stage "lints" cargo clippy --workspace $extras --all-targets --quiet -- -D warnings
stage "tests of the crates" rust_tests
stage "examples in the documentation" cargo test --doc --workspace $extras --quiet
stage "documentation" documentation
stage "Python environment" python_environment_made
stage "the Python package" python_package
stage "the Python package against pymbar, statsmodels and scipy" python_tests tests/python
stage "the command against scipy and mpmath" oracle_tests
if $all; then
    stage "features" features
    stage "packages" packages
    stage "wheel" wheel
    stage "energies of PyTorch" pytorch
    stage "models of PyMC and NumPyro, data of alchemtest" neighbours
    stage "fits on Dask clusters" cluster
    stage "conditional logits against survival of R" survival
    stage "the R package" r_package
    stage "the lab in a browser" browser
fi

printf '\n%s%6d s  all passed\n' "$summary" "$SECONDS"
