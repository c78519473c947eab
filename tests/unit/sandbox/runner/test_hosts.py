"""Names and addresses of a job's hosts."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path

import pytest

from airflow_sm_prefer.sandbox.runner import hosts
from airflow_sm_prefer.sandbox.runner.hosts import host_names, hosts_file


def addresses(text: str) -> dict[str, str]:
    found = re.findall(r"^(\S+) (algo-\d+)$", text, re.MULTILINE)
    return {host: address for address, host in found}


def test_hosts_are_sorted_as_texts() -> None:
    assert host_names(1) == ["algo-1"]
    assert host_names(11)[:3] == ["algo-1", "algo-10", "algo-11"]


def test_each_host_has_a_loopback_address_of_its_own_and_each_job_others() -> None:
    names = host_names(300)
    one, two = addresses(hosts_file(names, "one")), addresses(hosts_file(names, "two"))
    assert len(one) == len(set(one.values())) == 300
    assert all(ip_address(address).is_loopback for address in one.values())
    assert not set(one.values()) & set(two.values())


def test_the_machines_own_names_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "hosts"
    monkeypatch.setattr(hosts, "HOSTS_FILE", str(table))
    assert hosts_file(["algo-1"], "job").startswith("127.0.0.1 localhost\n127.")
    table.write_text("10.0.0.1 box\n")
    assert hosts_file(["algo-1"], "job").startswith("10.0.0.1 box\n127.")
