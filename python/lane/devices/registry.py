"""Every device that can be asked for. A device is added here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lane.checkpoint.gguf import Checkpoint
from lane.devices import cpu, reference
from lane.devices.cpu import CpuDevice
from lane.devices.device import Device
from lane.devices.reference import ReferenceDevice
from lane.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """What may be said to a device; those it has no use for it ignores."""

    threads: int | None = None


DEFAULT_DEVICE_OPTIONS = DeviceOptions()


DEVICES: Mapping[str, Callable[[Checkpoint, Plan, DeviceOptions], Device]] = {
    cpu.NAME: lambda checkpoint, plan, options: CpuDevice(checkpoint, plan, options.threads),
    reference.NAME: lambda checkpoint, plan, options: ReferenceDevice(checkpoint, plan),
}

DEFAULT = cpu.NAME
