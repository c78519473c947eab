from __future__ import annotations

import socket

from airflow_sm_prefer.cli.demo import ports


def test_the_preferred_port_is_taken_while_it_is_free_and_another_when_it_is_not() -> None:
    with socket.socket() as server:
        server.bind((ports.HOST, 0))
        server.listen()
        taken = server.getsockname()[1]
        picked = ports.pick(taken)
        assert picked != taken
        assert ports.is_open(taken)
    assert not ports.is_open(taken)
    assert ports.pick(taken) == taken


def test_a_port_that_somebody_serves_on_every_interface_is_not_free() -> None:
    with socket.socket() as server:
        server.bind(("0.0.0.0", 0))
        server.listen()
        assert ports.pick(server.getsockname()[1]) != server.getsockname()[1]
