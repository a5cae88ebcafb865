#!/usr/bin/env bash
# The source package: our crates and all that they need, packed beside the R code, so that it is built without a network.
# Usage: r/package.sh [FOLDER]   (default: r/dist)
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd .. && pwd)
out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT

# The package without what was built in it.
package=$staging/noisewright
mkdir "$package"
tar -C "$repository/r" --exclude=./dist --exclude=./src/rust/target --exclude=./src/Makevars --exclude='*.o' --exclude='*.so' \
    --exclude=./package.sh --exclude=./roxygen.R --exclude=./.gitignore -cf - . | tar -C "$package" -xf -

# The crates that it is made of, in a workspace of their own that has no others.
rust=$package/src/rust
crates="noisewright noisewright-bindings noisewright-formula noisewright-numerics noisewright-report"
mkdir -p "$rust/noisewright/crates"
members=""
for crate in $crates; do
    mkdir "$rust/noisewright/crates/$crate"
    tar -C "$repository/crates/$crate" --exclude=./tests --exclude=./benches --exclude=./examples --exclude=./public-api.txt -cf - . |
        tar -C "$rust/noisewright/crates/$crate" -xf -
    # What only their tests, benches and examples need is not packed.
    python3 "$repository/r/tools/trim.py" "$rust/noisewright/crates/$crate/Cargo.toml"
    members+="\"crates/$crate\", "
done
sed -e "s|^members = .*|members = [${members%, }]|" "$repository/Cargo.toml" >"$rust/noisewright/Cargo.toml"
sed -i -e 's|\.\./\.\./\.\./crates|noisewright/crates|' -e 's|^\[workspace\]$|[workspace]\nexclude = ["noisewright"]|' "$rust/Cargo.toml"

# What they need from the registry.
(cd "$rust" && cargo vendor --quiet --locked vendor >/dev/null)
mkdir "$rust/.cargo"
printf '[source.crates-io]\nreplace-with = "vendored"\n\n[source.vendored]\ndirectory = "vendor"\n' >"$rust/.cargo/config.toml"
# Their tests stay behind, and with them the list of files that checksums are of.
rm -rf "$rust"/vendor/*/tests "$rust"/vendor/*/benches
find "$rust/vendor" -name .cargo-checksum.json -exec sed -i 's/"files":{[^}]*}/"files":{}/' {} +
(cd "$rust" && tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - noisewright vendor .cargo | xz -6 >sources.tar.xz && rm -rf noisewright vendor .cargo)

(cd "$out" && R CMD build "$package")
