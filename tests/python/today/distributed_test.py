"""torch.distributed with the nccl backend between two processes, an emulated device each: collectives, and a module whose
gradients DistributedDataParallel averages. `distributed_test.py RANK ADDRESS` is one of the processes.
"""
import os
import subprocess
import sys

RANKS = 2
SECONDS = int(os.environ.get("DISTRIBUTED_TEST_SECONDS", "900"))


def worker(rank, address):
    import torch
    import torch.distributed as distributed
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", rank=rank, world_size=RANKS, init_method=address)

    def mine(count):
        return torch.arange(count, device="cuda", dtype=torch.float32) * (rank + 1)
    summed = mine(1000)
    distributed.all_reduce(summed)
    assert torch.equal(summed.cpu(), torch.arange(1000) * 3.0), "all_reduce"
    gathered = [torch.zeros(4, device="cuda") for _ in range(RANKS)]
    distributed.all_gather(gathered, mine(4))
    assert [t.tolist() for t in gathered] == [[0, 1, 2, 3], [0, 2, 4, 6]], "all_gather"
    sent = mine(5)
    distributed.broadcast(sent, 1)
    assert sent.tolist() == [0, 2, 4, 6, 8], "broadcast"
    module = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2).cuda(), device_ids=[rank])
    module(torch.full((4, 3), rank + 1.0, device="cuda")).sum().backward()
    weight, bias = [p.grad.tolist() for p in module.parameters()]
    assert weight == [[6, 6, 6], [6, 6, 6]] and bias == [4, 4], "averaged gradients"
    distributed.destroy_process_group()
    print("ok", flush=True)


def test_two_processes(tmp_path):
    address = f"file://{tmp_path}/store"
    logs = [open(tmp_path / f"rank{rank}.log", "w+") for rank in range(RANKS)]
    processes = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, str(rank), address], stdout=log, stderr=log)
                 for rank, log in enumerate(logs)]
    try:
        for process in processes:
            process.wait(SECONDS)
    finally:
        for process in processes:
            process.kill()
    for process, log in zip(processes, logs):
        log.seek(0)
        text = log.read()
        assert process.returncode == 0 and "ok" in text, text


if __name__ == "__main__":
    worker(int(sys.argv[1]), sys.argv[2])
