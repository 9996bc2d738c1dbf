"""Devices: what runs a lane. One interface; today the CPU."""
