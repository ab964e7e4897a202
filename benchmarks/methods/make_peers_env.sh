#!/bin/sh
# Make the environment of the peers: benchmarks/methods/make_peers_env.sh [FOLDER], .venv-peers if none is given.
# PYTHON names the interpreter that it is made with; the versions are those of Python 3.11.
set -eu
here=$(dirname "$0")
folder=${1:-.venv-peers}
"${PYTHON:-python3.11}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/peers-requirements.txt"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps mvlearn==0.5.0
"$folder/bin/python" "$here/peers_child.py" --list
echo "now set POWERKMEANS_PEERS=$(cd "$folder" && pwd)/bin/python"
