"""Imported by LeRobot: registers the environments and configurations of labference."""

from labference.integrations import lerobot as lerobot
