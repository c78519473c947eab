"""What outlives the sandbox's process: its jobs, its world and what moto holds, in a folder."""

from __future__ import annotations
