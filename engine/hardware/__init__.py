"""Frozen facts about this machine: memory, disks, processors, graphics cards."""
