"""Rows in object storage, by a server of moto on the loopback: the bits of memory, and one sentence for what goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewright as nw
from cluster_data import digest, model, rows

moto = pytest.importorskip("moto.server")
boto3 = pytest.importorskip("boto3")
distributed = pytest.importorskip("distributed")
s3fs = pytest.importorskip("s3fs")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

COUNT = 270_000
#: The command, built with the feature `object-store`.
COMMAND = os.environ.get("NOISEWRIGHT_OBJECT_STORE")


def _table(values: np.ndarray) -> Any:
    return pa.table({"x": values[:, 0], "y": values[:, 1]})


class Storage:
    """A server with a bucket `rows`, and who may read what there."""

    def __init__(self, folder: Path) -> None:
        self._server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        self._server.start()
        self.address = "http://{}:{}".format(*self._server.get_host_and_port())
        self._folder = folder
        # What an earlier server of this process was told.
        self._post("reset", b"")
        self._s3 = self._client("s3", "testing", "testing")
        self._s3.create_bucket(Bucket="bucket")

    def _client(self, service: str, key: str, secret: str) -> Any:
        return boto3.client(
            service, endpoint_url=self.address, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret
        )

    def put(self, name: str, values: np.ndarray | Any, cut: float = 1.0) -> None:
        """Puts rows, or as large a share of their file as `cut` says."""
        path = self._folder / "object"
        parquet.write_table(_table(values) if isinstance(values, np.ndarray) else values, path, row_group_size=40_000)
        whole = path.read_bytes()
        self._s3.put_object(Bucket="bucket", Key=name, Body=whole[: int(cut * len(whole))])

    def restrict(self, denied: str) -> tuple[str, str]:
        """The key of a user who may read everything but one object; from now on keys are looked at."""
        iam = self._client("iam", "testing", "testing")
        iam.create_user(UserName="reader")
        key = iam.create_access_key(UserName="reader")["AccessKey"]
        statements = [
            {"Effect": "Allow", "Action": "s3:*", "Resource": "*"},
            {"Effect": "Deny", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::bucket/{denied}"},
        ]
        policy = {"Version": "2012-10-17", "Statement": statements}
        iam.put_user_policy(UserName="reader", PolicyName="some", PolicyDocument=json.dumps(policy))
        self._look_at_keys_after(0)
        return key["AccessKeyId"], key["SecretAccessKey"]

    def close(self) -> None:
        """Lets everybody read again, and ends the server."""
        self._look_at_keys_after(1_000_000_000)
        self._server.stop()

    def _look_at_keys_after(self, requests: int) -> None:
        self._post("reset-auth", str(requests).encode())

    def _post(self, what: str, data: bytes) -> None:
        address, headers = f"{self.address}/moto-api/{what}", {"Content-Type": "text/plain"}
        urllib.request.urlopen(urllib.request.Request(address, data=data, headers=headers, method="POST")).close()


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    storage = Storage(tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", storage.address)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    _credentials(monkeypatch, ("testing", "testing"))
    s3fs.S3FileSystem.clear_instance_cache()
    yield storage
    storage.close()


def _credentials(monkeypatch: pytest.MonkeyPatch, key: tuple[str, str]) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key[1])
    s3fs.S3FileSystem.clear_instance_cache()


def _python(address: str) -> str:
    """What the package answers: the digest of the result, or its sentence."""
    try:
        with ThreadPoolExecutor(2) as executor:
            return digest(nw.fit(model(), address, nu=1.0, executor=executor))
    except nw.InputError as error:
        return str(error)


def _refused(address: str, match: str) -> None:
    said = _python(address)
    assert "\n" not in said and match in said, said


def test_rows_in_a_bucket_are_rows_in_memory(storage: Storage) -> None:
    values = rows(COUNT)
    for number, part in enumerate(np.split(values, [100_001])):
        storage.put(f"rows/{number}.parquet", part)
    expected = digest(nw.fit(model(), {"x": values[:, 0], "y": values[:, 1]}, nu=1.0))
    assert _python("s3://bucket/rows/*.parquet") == expected
    # Processes of their own find credentials and address in the environment.
    assert digest(nw.fit(model(), "s3://bucket/rows/*.parquet", nu=1.0, executor=2)) == expected
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            assert digest(nw.fit(model(), "s3://bucket/rows/*.parquet", nu=1.0, executor=client)) == expected


def test_what_is_wrong_with_the_objects_is_one_sentence(storage: Storage) -> None:
    values = rows(5000)
    _refused("s3://nowhere/rows/*.parquet", "s3://nowhere/rows/*.parquet")
    _refused("s3://nowhere/rows/a.parquet", "s3://nowhere/rows/a.parquet: there is no such file, or no such bucket")
    _refused("s3://bucket/rows/a.parquet", "s3://bucket/rows/a.parquet: there is no such file, or no such bucket")
    _refused("s3://bucket/rows/*.parquet", "no file is named like s3://bucket/rows/*.parquet")
    storage.put("cut/a.parquet", values)
    storage.put("cut/b.parquet", values, cut=0.6)
    _refused("s3://bucket/cut/*.parquet", "s3://bucket/cut/b.parquet cannot be read: ")
    storage.put("schema/a.parquet", values)
    storage.put("schema/b.parquet", _table(values).rename_columns(["x", "z"]))
    _refused("s3://bucket/schema/*.parquet", "s3://bucket/schema/b.parquet has no column `y`; its columns are x, z")
    storage.put("bad/a.parquet", values)
    values[4321, 1] = np.nan
    storage.put("bad/b.parquet", values)
    _refused("s3://bucket/bad/*.parquet", "s3://bucket/bad/b.parquet, row group 0, row 4322: ")


def test_an_object_that_may_not_be_read_is_one_sentence(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        storage.put(f"rows/{name}.parquet", rows(5000))
    reader = storage.restrict("rows/b.parquet")
    _credentials(monkeypatch, reader)
    assert len(_python("s3://bucket/rows/a.parquet")) == 64
    _refused("s3://bucket/rows/*.parquet", "s3://bucket/rows/b.parquet: access is denied; check the credentials that the workers have")
    _credentials(monkeypatch, ("nobody", "nothing"))
    _refused("s3://bucket/rows/a.parquet", "access is denied; check the credentials that the workers have")


def _command(folder: Path, *words: str) -> tuple[int, str, str]:
    assert COMMAND is not None
    (folder / "m.toml").write_text("variables = ['x', 'y']\nfeatures = ['x', 'y', 'x^2', 'x*y', 'y^2']\n")
    done = subprocess.run([COMMAND, "fit", "m.toml", *words, "--nu", "1", "--json"], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(COMMAND is None, reason="NOISEWRIGHT_OBJECT_STORE must name the command, built with the feature `object-store`")
def test_the_command_reads_object_storage(storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = rows(COUNT)
    parts = np.split(values, [100_001])
    for number, part in enumerate(parts):
        storage.put(f"rows/{number}.parquet", part)
        parquet.write_table(_table(part), tmp_path / f"{number}.parquet")
    local = json.loads(_command(tmp_path, "0.parquet", "1.parquet")[1])
    for words in (["s3://bucket/rows/*.parquet", "--workers", "2"], ["s3://bucket/rows/0.parquet", "s3://bucket/rows/1.parquet", "--workers", "1"]):
        code, out, err = _command(tmp_path, *words)
        assert code == 0, err
        found = json.loads(out)
        assert {**found, "passes": None, "data": None} == {**local, "passes": None, "data": None}
    storage.put("cut/b.parquet", values[:5000], cut=0.6)
    storage.put("schema/b.parquet", _table(values[:5000]).rename_columns(["x", "z"]))
    reader = storage.restrict("rows/1.parquet")
    _credentials(monkeypatch, reader)
    for address, sentence in {
        "s3://nowhere/rows/a.parquet": "there is no such object, or no such bucket",
        "s3://bucket/rows/none-*.parquet": "no object is named like s3://bucket/rows/none-*.parquet",
        "s3://bucket/rows/*.parquet": "s3://bucket/rows/1.parquet: access is denied",
        "s3://bucket/cut/b.parquet": "s3://bucket/cut/b.parquet",
        "s3://bucket/schema/b.parquet": "no column `y`",
    }.items():
        code, _, err = _command(tmp_path, address, "--workers", "1")
        assert code == 1 and sentence in err and len(err.strip().splitlines()) == 1, (address, err)
