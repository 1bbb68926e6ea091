import torch

from caot import threads
from caot.threads import compute_threads, n_cores


def test_a_containers_quota_limits_the_cores(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(64)), raising=False)
    quota = tmp_path / "cpu.max"
    assert n_cores(quota) == 64  # no such file
    for text, expected in (("max 100000", 64), ("250000 100000", 3), ("1 100000", 1), ("what", 64)):
        quota.write_text(text)
        assert n_cores(quota) == expected


def test_threads_are_limited_and_restored(monkeypatch):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        monkeypatch.setattr(threads, "n_cores", lambda: 2)
        with compute_threads() as count:
            assert count == torch.get_num_threads() == 2
        assert torch.get_num_threads() == 3
        monkeypatch.setattr(threads, "n_cores", lambda: 8)
        with compute_threads() as count:
            assert count == torch.get_num_threads() == 3  # what the user set
    finally:
        torch.set_num_threads(before)
