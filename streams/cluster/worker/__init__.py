"""The process that decides on partitions: `palimpsest worker`."""
