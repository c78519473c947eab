"""Queue policies, pure: nothing stands here yet but the layer that they will have."""
