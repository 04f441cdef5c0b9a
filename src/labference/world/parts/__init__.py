"""Labware and instruments, one file each. Declarations only: a part draws itself through the `Bench` it is handed."""
