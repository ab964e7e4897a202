#!/bin/sh
# What a stranger does, timed: clone, make demo, fit a CSV of their own, open the report.
#   sh benchmarks/first_steps.sh [repository]
set -eu
source=$(cd "${1:-$(dirname "$0")/..}" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
timed() {
    start=$(date +%s)
    "$@" >"$folder/out" 2>&1 || { cat "$folder/out"; echo "FAILED: $*"; exit 1; }
    echo "$(($(date +%s) - start)) s	$*"
}
cd "$folder"
timed git clone --quiet "$source" clone
cd clone
timed make demo
.venv/bin/python -c '
from sklearn.datasets import load_wine
wine = load_wine()
with open("wine.csv", "w") as file:
    print("bottle", *wine.feature_names, sep=",", file=file)
    for number, row in enumerate(wine.data):
        print(f"bottle {number}", *row, sep=",", file=file)'
timed .venv/bin/powerkmeans fit wine.csv --id bottle -k 3
head -3 powerkmeans_output/labels.csv
browser=$(command -v chromium || command -v google-chrome || true)
if [ -n "$browser" ]; then
    timed "$browser" --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/powerkmeans_output/report.html"
    grep -o "<title>.*</title>" "$folder/out"
fi
