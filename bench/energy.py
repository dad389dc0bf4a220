"""Joules of an NVIDIA board (NVML) and of processors (RAPL); None wherever a counter cannot be read."""

import ctypes
import os
import pathlib
import threading
import time

STEP = 0.02  # seconds between two readings; the counter itself moves every 0.02 to 0.1 s


class Meter:
    """Reads the counter of the first device that CUDA shows. `lacking` says why there is none, or is empty."""

    def __init__(self):
        self.read, self.lacking = None, ""
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")  # of the driver: no Python package is needed
        except OSError as missing:
            self.lacking = f"no NVML: {missing}"
            return
        board, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
        find = nvml.nvmlDeviceGetHandleByIndex_v2 if first.isdigit() else nvml.nvmlDeviceGetHandleByUUID
        name = ctypes.c_uint(int(first)) if first.isdigit() else first.encode()

        def read():
            failed = nvml.nvmlDeviceGetTotalEnergyConsumption(board, ctypes.byref(millijoules))
            return None if failed else millijoules.value / 1000

        if nvml.nvmlInit_v2() or find(name, ctypes.byref(board)) or read() is None:
            self.lacking = "NVML has no counter of joules of this device"
        else:
            self.read = read

    def joules(self):
        """Since the driver was loaded."""
        return self.read() if self.read else None


class PackageMeter:
    """Joules of all processors, from the RAPL counters that Linux shows. `lacking` as above."""

    def __init__(self, folder="/sys/class/powercap"):
        self.files = sorted(pathlib.Path(folder).glob("intel-rapl:?/energy_uj"))
        self.lacking = "" if self.files else "this machine shows no RAPL counter"
        if self.joules() is None and not self.lacking:
            self.lacking = "the RAPL counters cannot be read without root"

    def joules(self):
        try:
            return sum(int(file.read_text()) for file in self.files) / 1e6 if self.files else None
        except OSError:
            return None


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
