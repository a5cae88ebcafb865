#!/usr/bin/env bash
# Everything that must hold. Plain: on a machine with a Rust toolchain and Python 3 and nothing else.
# --all: also the long simulations, and what needs more: PyTorch, PyMC, NumPyro, alchemlyb, Dask, R, a browser, builds without default features,
# the packed crates, the wheel.
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
if $all; then extras="--features noisewright/dual,noisewright/ndarray,noisewright/arrow,noisewright-cli/object-store"; fi

# What is built to see that it builds need not be fast; what it depends on stays as the tests have built it.
unoptimised=()
for crate in noisewright noisewright-{cli,data,lab,paper,report}; do unoptimised+=(--config "profile.dev.package.$crate.opt-level=0"); done

# A test that hangs is a failure, not a run without an end.
pytest="-m pytest -q --timeout 900"

# The tests that take a third of the time, most of them simulations that have shorter neighbours, are ignored here and marked `long` in
# Python: `--all` runs them.
rust_tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --workspace $extras --no-fail-fast $($all && echo --run-ignored all)
    else
        cargo test --workspace $extras --lib --bins --tests --examples --no-fail-fast $($all && echo -- --include-ignored)
    fi
}

# environment FOLDER PACKAGE…
environment() {
    local folder=$1
    shift
    if [ ! -x "$folder/bin/python" ]; then
        python3 -m venv "$folder" || {
            echo "python3 cannot make a virtual environment: install its venv module (python3-venv on Debian)" >&2
            return 1
        }
    fi
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

python_environment() {
    environment .venv -r tests/oracle/requirements.txt -r tests/python/requirements.txt
}

# What `--all` needs besides. With PyTorch its tests are among those of the package. Packages whose models and data ours
# take have an environment of their own, and Dask has: their demands on NumPy and pandas are theirs alone.
other_environments() {
    .venv/bin/python -c 'import torch' 2>/dev/null || environment .venv torch || return 1
    environment .venv -r tests/browser/requirements.txt &&
    environment .venv/neighbours pytest pytest-timeout scipy pandas matplotlib alchemlyb alchemtest pymbar pymc numpyro &&
    environment .venv/cluster pytest pytest-timeout numpy matplotlib "dask[dataframe,distributed]" pyarrow "moto[server]" s3fs
}

r_packages="codetools testthat generics jsonlite knitr rmarkdown posterior coda bridgesampling"
has_r_packages() {
    Rscript -e "quit(status = !all(vapply(commandArgs(TRUE), requireNamespace, NA, quietly = TRUE)))" "$@" >/dev/null 2>&1
}
has_browser() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }

# R and a browser, where they can be installed; what needs them is skipped, and says so, where they cannot.
system_packages() {
    if has_r_packages survival $r_packages && has_browser; then return 0; fi
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 0
    export DEBIAN_FRONTEND=noninteractive
    apt-get update --quiet --quiet || true
    apt-get install --quiet --quiet --yes --no-install-recommends r-base-dev r-cran-survival pandoc $(printf 'r-cran-%s ' $r_packages) || true
    apt-get install --quiet --quiet --yes --no-install-recommends chromium chromium-driver || true
}

# Installing waits for the network, not for a core: it is done while the crates are built.
installing_begun() {
    environment_log=$(mktemp) && others_log=$(mktemp)
    python_environment >"$environment_log" 2>&1 &
    environment=$!
    $all || return 0
    { wait_for "$environment" && other_environments && system_packages; } >"$others_log" 2>&1 &
    others=$!
}

# `wait` knows the children of its own shell only.
wait_for() {
    while kill -0 "$1" 2>/dev/null; do sleep 1; done
}

installed() {
    wait "$environment" || { cat "$environment_log" >&2; return 1; }
    $all || return 0
    wait "$others" || { cat "$others_log" >&2; return 1; }
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
    local among=""
    $all || among="and not long"
    .venv/bin/python $pytest -n auto --dist worksteal -m "not alone $among" "$@" &&
    .venv/bin/python $pytest -m "alone $among" "$@"
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

# The examples in the documentation of what was packed, from the packages alone: nothing of this tree can stand in for what a package
# lacks. The newest of each is the one that was just made.
packed_examples() {
    local target=${CARGO_TARGET_DIR:-$PWD/target} patches=() crate
    packed() { ls -td "$target/package/$1"-[0-9]*/ | head -n 1; }
    for crate in noisewright-{numerics,formula,report}; do
        patches+=(--config "patch.crates-io.$crate.path='$(packed "$crate")'")
    done
    for crate in noisewright-{numerics,formula} noisewright; do
        CARGO_PROFILE_DEV_DEBUG=false cargo test --quiet --doc --manifest-path "$(packed "$crate")Cargo.toml" "${patches[@]}" \
            --target-dir "$target/packed" || return 1
    done
}

# The wheel, in an environment where nothing else of ours is.
wheel() {
    rm -rf .venv/wheel && python3 -m venv .venv/wheel &&
    .venv/bin/maturin build --quiet "${unoptimised[@]}" --out .venv/wheel/built &&
    .venv/wheel/bin/python -m pip install --quiet --disable-pip-version-check .venv/wheel/built/*.whl &&
    (cd .venv/wheel && bin/python -c 'import noisewright as nw
print(nw.fit(*nw.load_example("old-faithful"), seed=1))')
}

neighbours() {
    PYTHONPATH=python .venv/neighbours/bin/python $pytest tests/python/test_neighbours.py tests/python/test_probabilistic.py \
        tests/python/test_alchemtest.py
}

# The lab in Chromium.
browser() {
    if ! has_browser; then
        echo "skipped: chromium and chromium-driver are not here and could not be installed; the lab's server was tested above"
        return 0
    fi
    NOISEWRIGHT="$PWD/${CARGO_TARGET_DIR:-target}/debug/noisewright" .venv/bin/python $pytest tests/browser
}

# Dask clusters of real processes, files of Parquet, and object storage on the loopback.
cluster() {
    local command="${CARGO_TARGET_DIR:-$PWD/target}/debug/noisewright"
    NOISEWRIGHT_OBJECT_STORE="$command" NOISEWRIGHT="$command" PYTHONPATH=python \
        .venv/cluster/bin/python $pytest tests/python/test_cluster_*.py tests/python/test_simulations.py
}

# R's numbers made anew, and the package against them.
survival() {
    if ! has_r_packages survival; then
        echo "skipped: R with its package survival is not here and could not be installed; the committed numbers were compared above"
        return 0
    fi
    local folder
    folder=$(mktemp -d) && Rscript tests/clogit/reference.R "$folder" &&
        CLOGIT_NUMBERS="$folder" .venv/bin/python $pytest tests/python/test_clogit.py
}

# The R package: its crate, then the package as it would be handed out, checked by R, with the command beside it.
r_package() {
    if ! has_r_packages $r_packages; then
        echo "skipped: R with its packages $r_packages is not here and could not be installed"
        return 0
    fi
    local target=${CARGO_TARGET_DIR:-$PWD/target}
    local folder=$target/r-package
    rm -rf "$folder" && mkdir -p "$folder" &&
    (cd r/src/rust && cargo fmt -- --check && cargo clippy --quiet --locked --target-dir "$target" -- -D warnings) &&
    export NOISEWRIGHT_PROFILE=dev NOISEWRIGHT_TARGET_DIR="$folder/target" &&
    r/package.sh "$folder" &&
    (cd "$folder" && NOISEWRIGHT="$target/debug/noisewright" _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual noisewright_*.tar.gz) &&
    ! grep -E "(ERROR|WARNING)$|^Status: .*(ERROR|WARNING)" "$folder/noisewright.Rcheck/00check.log"
}

installing_begun
stage "format" cargo fmt --all -- --check
stage "lints" cargo clippy --workspace $extras --all-targets --quiet -- -D warnings
stage "tests of the crates" rust_tests
stage "examples in the documentation" cargo test --doc --workspace $extras --quiet
stage "documentation" documentation
stage "installing the rest" installed
stage "the Python package" python_package
stage "the Python package against pymbar, statsmodels and scipy" python_tests tests/python
stage "the command against scipy and mpmath" oracle_tests
if $all; then
    stage "models of PyMC and NumPyro, data of alchemtest" neighbours
    stage "fits on Dask clusters" cluster
    stage "conditional logits against survival of R" survival
    stage "the R package" r_package
    stage "the lab in a browser" browser
    # These leave other builds of the command in the place of the one that was tested.
    stage "features" features
    stage "packages" packages
    stage "examples in the packages" packed_examples
    stage "wheel" wheel
fi

printf '\n%s%6d s  all passed\n' "$summary" "$SECONDS"
