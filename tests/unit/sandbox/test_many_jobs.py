"""What the sandbox does when it knows many jobs: as much as concerns those that something has happened to."""

from airflow_sm_prefer.sandbox.agenda import Agenda
from airflow_sm_prefer.sandbox.floor import Floor
from tests.unit.sandbox.builders import CPU, G5, P5, Bench, prefer, single


def test_jobs_that_wait_for_other_types_are_not_looked_at_when_a_job_ends(monkeypatch):
    looked_at: list[str] = []
    free = Floor._free

    def counted(floor, job, elapsed, candidate):
        looked_at.append(job.name)
        return free(floor, job, elapsed, candidate)

    bench = Bench(seconds=100, capacity={P5: 0, G5: 1})
    for number in range(20):
        bench.train(f"waits-{number}", single(P5))
    bench.train("first", prefer(G5))
    bench.train("second", prefer(P5, G5))
    monkeypatch.setattr(Floor, "_free", counted)
    bench.advance(101)
    assert bench.state("first") == ("Completed", "Completed")
    assert bench.state("second") == ("InProgress", "Training")
    assert set(looked_at) == {"second"}


def test_waiting_jobs_still_start_in_order_of_arrival_whatever_came_free():
    bench = Bench(seconds=100, capacity={P5: 1, G5: 1})
    bench.train("on-p5", single(P5))
    bench.train("on-g5", single(G5))
    for name in ("a", "b", "c"):
        bench.train(name, prefer(P5, G5))
    bench.advance(101)
    assert [bench.state(name)[1] for name in ("a", "b", "c")] == ["Training", "Training", "Pending"]


def test_a_deadline_is_noted_once_however_often_a_job_is_looked_at():
    bench = Bench(seconds=1, capacity={P5: 0, G5: 1})
    bench.train("waits", prefer((P5, 1), (G5, 2)))
    for number in range(5):
        bench.train(f"runs-{number}", single(G5))
        bench.advance(2)
    agenda = bench.sandbox.engine.agenda
    assert len([job for _, _, job in agenda._entries if job is not None and job.name == "waits"]) == 1


def test_an_instant_can_be_noted_again_once_it_has_come():
    agenda = Agenda()
    for _ in range(2):
        agenda.add(5.0)
        agenda.add(5.0)
        assert agenda.pop_due(4.9) == []
        assert agenda.pop_due(5.0) == [None]
        assert agenda.pop_due(5.0) == []


def test_a_stopped_run_ends_once_and_at_its_new_time():
    bench = Bench(seconds=100)
    bench.train("stopped", single(CPU))
    bench.train("other", single(CPU))
    bench.advance(10)
    bench.call("StopTrainingJob", {"TrainingJobName": "stopped"})
    bench.advance(1)
    assert bench.state("stopped") == ("Stopped", "Stopped")
    assert bench.state("other") == ("InProgress", "Training")
    bench.advance(100)
    assert bench.state("other") == ("Completed", "Completed")
    assert bench.history("stopped").count("Stopped") == 1
