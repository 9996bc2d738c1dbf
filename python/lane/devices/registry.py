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
from lane.plan.workspace import CpuNumbers, cpu_numbers


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """What may be said to a device; those it has no use for it ignores."""

    threads: int | None = None


DEFAULT_DEVICE_OPTIONS = DeviceOptions()


def cpu_of(device: str, options: DeviceOptions) -> CpuNumbers | None:
    """The CPU that a device's plans are made for; none: it is no CPU."""
    return cpu_numbers(options.threads) if device == cpu.NAME else None


DEVICES: Mapping[str, Callable[[Checkpoint, Plan, DeviceOptions], Device]] = {
    cpu.NAME: lambda checkpoint, plan, options: CpuDevice(checkpoint, plan),
    reference.NAME: lambda checkpoint, plan, options: ReferenceDevice(checkpoint, plan),
}

DEFAULT = cpu.NAME
