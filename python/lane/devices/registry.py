"""Every device that can be asked for. A device is added here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lane.checkpoint.gguf import Checkpoint
from lane.devices import cpu, reference
from lane.devices.device import Device
from lane.plan.cpu_target import this_cpu
from lane.plan.plan import Plan
from lane.plan.target import Target


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """What may be said to a device; those it has no use for it ignores."""

    threads: int | None = None


DEFAULT_DEVICE_OPTIONS = DeviceOptions()


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """What a device's plans are made for, and how it is opened with one."""

    target: Callable[[DeviceOptions], Target | None]
    open: Callable[[Checkpoint, Plan], Device]


DEVICES: Mapping[str, DeviceKind] = {
    cpu.NAME: DeviceKind(lambda options: this_cpu(options.threads), cpu.CpuDevice),
    reference.NAME: DeviceKind(lambda options: None, reference.ReferenceDevice),
}

DEFAULT = cpu.NAME
