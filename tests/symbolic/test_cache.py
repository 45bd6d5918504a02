"""The cache on disk: complete or absent, never trusted blindly, never in the way."""

import os
import subprocess
import sys
import warnings

import casadi as ca
import pytest

from kreisel.symbolic import CacheWarning, cache, machine, translate

CODE = b"\x7fELF, or so it says"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("KREISEL_CACHE", str(path))
    cache._refused.clear()
    return path


def test_what_is_stored_is_found(folder):
    assert cache.load("key") is None
    cache.store("key", CODE)
    assert cache.load("key") == CODE
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [p.name for p in folder.iterdir()] == ["key"]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:10], lambda b: b"", lambda b: b[:40] + b"X" + b[41:]])
def test_a_damaged_file_is_not_trusted_and_is_replaced(folder, damage):
    cache.store("key", CODE)
    (folder / "key").write_bytes(damage((folder / "key").read_bytes()))
    assert cache.load("key") is None
    cache.store("key", CODE)
    assert cache.load("key") == CODE


def test_a_file_under_a_wrong_name_is_not_trusted(folder):
    cache.store("key", CODE)
    (folder / "key").rename(folder / "other")
    assert cache.load("other") is None


def test_a_link_is_not_followed(folder, tmp_path):
    cache.store("key", CODE)
    (folder / "key").rename(tmp_path / "elsewhere")
    (folder / "key").symlink_to(tmp_path / "elsewhere")
    assert cache.load("key") is None


def test_files_and_directories_of_others_are_refused(folder, monkeypatch):
    cache.store("key", CODE)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert cache.load("key") is None


def test_a_file_of_another_owner_is_refused(folder, monkeypatch):
    cache.store("key", CODE)
    original = cache._untrusted
    monkeypatch.setattr(cache, "_untrusted", lambda status, directory=False: "" if directory else "it belongs to another user")
    assert cache.load("key") is None
    monkeypatch.setattr(cache, "_untrusted", original)
    assert cache.load("key") == CODE


def test_a_directory_others_may_write_to_is_refused_once(folder):
    cache.store("key", CODE)
    folder.chmod(0o777)
    with pytest.warns(CacheWarning, match="others may write"):
        assert cache.load("key") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.store("key", CODE)  # said once, then silent


def test_a_place_that_cannot_be_used_does_no_harm(folder):
    folder.write_text("a file where the directory should be")
    with pytest.warns(CacheWarning, match="cannot use the cache directory"):
        cache.store("key", CODE)
    assert cache.load("key") is None


def test_switched_off(monkeypatch, folder):
    monkeypatch.setenv("KREISEL_CACHE", "off")
    cache.store("key", CODE)
    assert cache.load("key") is None
    assert not folder.exists()


def test_the_key_depends_on_content_and_entry(folder):
    x = ca.SX.sym("x")
    f, g = ca.Function("f", [x], [x + 1]), ca.Function("f", [x], [x + 2])
    addresses = {machine.address(lambda h=h: translate.kernel(h, 1), h.serialize().encode(), "kernel") for h in (f, g)}
    assert len(addresses) == 2
    assert len(list(folder.iterdir())) == 2


PROGRAM = """
import numpy as np
from kreisel.groups import S3R3, SE3
v = np.linspace(-1, 1, 6)
for G in (S3R3, SE3):
    assert np.abs(G.log(G.exp(v)) - v).max() < 1e-14
    G.T(v), G.Tinv(v), G.Ad(G.exp(v))
print("right")
"""


def test_two_processes_fill_the_cache_at_once(folder):
    start = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [p.communicate(timeout=120)[0].strip() for p in start] == ["right", "right"]
    assert all(cache.load(p.name) for p in folder.iterdir())
    assert not list(folder.glob(".new-*"))


def test_a_truncated_file_is_compiled_again_in_a_new_process(folder):
    run = lambda: subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert run().stdout.strip() == "right"
    files = sorted(folder.iterdir())
    sizes = [p.stat().st_size for p in files]
    for p in files:
        p.write_bytes(p.read_bytes()[: p.stat().st_size // 2])
    assert run().stdout.strip() == "right"
    assert [p.stat().st_size for p in files] == sizes


def test_objects_do_not_differ_between_compilations():
    x = ca.SX.sym("x", 2)
    f = ca.Function("f", [x], [ca.sin(x[0]) * x[1]])
    text = translate.kernel(f, 4)
    assert machine._assemble(text) == machine._assemble(text)
