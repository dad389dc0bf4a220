"""Joules of an NVIDIA board, from the counter that NVML has (nvidia-ml-py); None wherever it cannot be read."""

import os
import threading
import time

STEP = 0.02  # seconds between two readings; the counter itself moves every 0.02 to 0.1 s


class Meter:
    """Reads the counter of the first device that CUDA shows. `lacking` says why there is none, or is empty."""

    def __init__(self):
        self.read, self.lacking = None, ""
        try:
            import pynvml

            pynvml.nvmlInit()
            first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
            board = pynvml.nvmlDeviceGetHandleByIndex(int(first)) if first.isdigit() else pynvml.nvmlDeviceGetHandleByUUID(first)
            pynvml.nvmlDeviceGetTotalEnergyConsumption(board)
            self.read = lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(board) / 1000
        except ImportError:
            self.lacking = "the Python package nvidia-ml-py is not here"
        except Exception as failure:  # NVML's errors are classes made at run time
            self.lacking = f"NVML: {failure}"

    def joules(self):
        """Since the driver was loaded."""
        return self.read() if self.read else None


def watts_of(meter, work):
    """Mean power while `work` runs, which should take half a second or more."""
    if not meter.read:
        return None
    begin, before = time.perf_counter(), meter.joules()
    work()
    return (meter.joules() - before) / (time.perf_counter() - begin)


class Recorder:
    """Reads the counter all the while in a `with` block: for work in a process of its own."""

    def __init__(self, meter):
        self.meter, self.readings = meter, []

    def __enter__(self):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._record)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def _record(self):
        while self.meter.read and not self.ended.wait(STEP):
            self.readings.append((time.perf_counter(), self.meter.joules()))

    def watts(self, begin, end):
        """Mean power between two moments of time.perf_counter(); None where there are fewer than two readings."""
        inside = [reading for reading in self.readings if begin <= reading[0] <= end]
        if len(inside) < 2:
            return None
        (first, before), (last, after) = inside[0], inside[-1]
        return (after - before) / (last - first)
